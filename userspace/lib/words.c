// SPDX-License-Identifier: MIT
/* Errors in words, and the hash of identifiers. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/**
 * struct words - an error, for people
 * @error: positive errno
 * @meaning: what it means here
 * @next: what to do about it
 */
struct words {
	int error;
	const char *meaning;
	const char *next;
};

static const struct words words[] = {
	{ 0, "done", "" },
	{ ENOENT, "no such object", "Compute the value and put it." },
	{ EEXIST, "the key is there already; nothing was written",
	  "Use the object that is there, or delete it first." },
	{ EAGAIN, "not this moment: no clean segment, or a member is suspect",
	  "Try again later or go on without; nothing is lost." },
	{ ETIMEDOUT, "the deadline passed",
	  "Give a longer deadline, or look at the members with 'kvcachectl info'." },
	{ EINPROGRESS,
	  "the deadline passed and the memory is still under I/O",
	  "Leave that memory alone until it is unmapped." },
	{ EDQUOT, "the tenant's quota is used up",
	  "Delete objects of the tenant or raise its quota." },
	{ EMSGSIZE, "the buffer is smaller than the object",
	  "Come back with a buffer of the object's length." },
	{ EBADMSG, "the data did not match their checksum; the object was dropped",
	  "Compute the value again; watch 'bad_data' and the members' errors in 'kvcachectl info'." },
	{ EIO, "a member failed",
	  "Look for the failed member with 'kvcachectl info' and in the kernel's log." },
	{ ESTALE, "the lease is lost",
	  "Wait until the pool has joined again; look into the kernel's log for why." },
	{ ENODEV, "no such pool is attached",
	  "List pools with 'kvcachectl info', attach one with 'kvcachectl attach'." },
	{ EINVAL, "malformed; nothing was done",
	  "Check key length (1 to 512), object length (at least 1) and flags." },
	{ EFBIG, "larger than the pool's largest object",
	  "Split the value; 'kvcachectl info' says the largest object." },
	{ ECANCELED, "the batch ended before this key was begun",
	  "Send the key again." },
	{ EFAULT, "a pointer is bad", "Check the addresses of keys and memory." },
	{ EINTR, "a signal came; nothing was done", "Call again." },
	{ EBUSY, "held by someone else, or in use",
	  "The reason names the holder: detach it there, or wait for its lease to end." },
	{ EUCLEAN, "labels disagree or media are malformed",
	  "Look at the members with 'kvcachectl dump' and 'kvcachectl fsck'." },
	{ EOPNOTSUPP, "not supported by this kernel module",
	  "Load a newer module." },
	{ ENXIO, "members are missing",
	  "Connect them with 'kvcachectl connect', or attach with --degraded." },
	{ ENOTTY, "this is not a kvcache device",
	  "Give the module's device, /dev/kvcache as a rule." },
	{ EPERM, "not permitted", "Run it as root (CAP_SYS_ADMIN)." },
	{ EACCES, "no permission to open the device",
	  "Become a member of the group 'kvcache' or run it as root." },
	{ E2BIG, "this program is newer than the kernel module",
	  "Load the module that belongs to it." },
	{ ENOMEM, "out of memory", "Free memory, or raise RLIMIT_MEMLOCK." },
	{ ENAMETOOLONG, "the host NQN is too long",
	  "Shorten it to 223 bytes." },
	{ EPROTO, "the kernel's answer makes no sense",
	  "Report this with the versions of module and library." },
};

static const struct words *look_up(int error)
{
	size_t i;

	if (error < 0)
		error = -error;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].error == error)
			return &words[i];
	return NULL;
}

const char *kvc_strerror(int error)
{
	const struct words *w = look_up(error);
	const char *text;

	if (w)
		return w->meaning;
	text = strerrordesc_np(abs(error));
	return text ? text : "unknown error";
}

const char *kvc_next_step(int error)
{
	const struct words *w = look_up(error);

	return w ? w->next : "";
}

uint64_t kvc_wwid_hash(const char *wwid)
{
	/* FNV-1a with 64 bits. Labels hold the result: it must stay. */
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t len = strlen(wwid);
	size_t i;

	while (len && isspace((unsigned char)wwid[len - 1]))
		len--;
	if (!len)
		return 0;
	for (i = 0; i < len; i++) {
		hash ^= (uint8_t)wwid[i];
		hash *= 0x100000001b3ULL;
	}
	return hash ? hash : 1;
}
