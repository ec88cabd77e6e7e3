// SPDX-License-Identifier: GPL-2.0
/*
 * Pools that come and go under callers, and callers that go: attach, detach and
 * abandon while threads hammer; signals during calls; processes that are
 * killed in the middle of one.
 *
 * usage: rubbish_chaos TEST SECONDS MEMBER...
 *
 * "all" stands for all tests but those that want members to hang: stuck.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "again.h"
#include "nvmekv.h"

#define THREADS 4
#define KEYS 300
#define ABANDON "/sys/kernel/debug/kvcache/abandon"

static const char *const *members;
static unsigned int nr_members;
static uint64_t seconds;
static struct kvc *kvc;			/* of the default pool */
static bool stop;

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define COUNT(x) __atomic_add_fetch(&(x), 1, __ATOMIC_RELAXED)

static int attach(unsigned int number, char reason[768])
{
	struct kvc_attach_options o = {
		.paths = members,
		.nr_members = nr_members,
		.pool = number,
	};

	return kvc_attach(kvc, &o, reason, 768);
}

/* Until it is attached: another may hold it for a moment. */
static int attach_soon(void)
{
	uint64_t end = vt_ms() + 60000;
	char reason[768] = "";
	int got;

	do {
		got = attach(1, reason);
	} while (got < 0 && vt_ms() < end);
	if (got < 0)
		vt_note("attach: %d %s", got, reason);
	return got;
}

static int abandon(unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return vt_write(ABANDON, text);
}

/* --- callers --- */

static size_t len_of(unsigned int k)
{
	return 1 + vt_mix(k, 4) % (k % 16 ? 20000 : 300000);
}

/* Of a pool that may be gone at any time. */
static bool may_be(int status)
{
	switch (-status) {
	case 0:
	case ENOENT:
	case EEXIST:
	case EAGAIN:
	case ESTALE:
	case ENODEV:
	case ECANCELED:
	case ETIMEDOUT:
	case EINPROGRESS:	/* the same, and memory may be under I/O yet */
		return true;
	}
	return false;
}

static uint64_t served, refused, answers[200];

static void note_answer(const char *what, int status)
{
	vt_expect(may_be(status), "%s: %d", what, status);
	if (status <= 0 && status > -200)
		COUNT(answers[-status]);
	if (status == -ENODEV || status == -ESTALE || status == -ECANCELED) {
		COUNT(refused);
		/* Leave the machine to those who attach. */
		usleep(500);
	} else {
		COUNT(served);
	}
}

#define MEM (1 << 20)

/* What a late get may write to is not used again. */
static void renew(uint8_t **mem)
{
	munmap(*mem, MEM);
	*mem = vt_map(MEM);
}

static void one_call(struct vt_rng *rng, uint8_t **mem, const struct kvc_call *call)
{
	uint8_t *p = *mem;
	unsigned int k = (unsigned int)vt_below(rng, KEYS), n;
	struct kvcache_io ios[16];
	char keys[16][24], key[24];
	struct kvcache_info info;
	struct kvc_list *list;
	struct kvc_object o;
	uint32_t pools[4];
	size_t len = len_of(k), i;
	ssize_t got;

	snprintf(key, sizeof(key), "chaos-%u", k);
	switch (vt_below(rng, 20)) {
	case 0 ... 5:
		vt_fill(p, k, 0, len);
		note_answer("put", kvc_put(kvc, call, key, strlen(key), p, len));
		break;
	case 6 ... 11:
		got = kvc_get(kvc, call, key, strlen(key), p, 400000, NULL);
		note_answer("get", got > 0 ? 0 : (int)got);
		if (got == -EINPROGRESS)
			renew(mem);
		vt_expect(got < 0 || (got == (ssize_t)len &&
				      vt_differs(p, k, 0, len) < 0),
			  "get %s: %zd, or wrong bytes", key, got);
		break;
	case 12:
		note_answer("delete", kvc_delete(kvc, call, key, strlen(key)));
		break;
	case 13:
		note_answer("exists", kvc_exists(kvc, call, key, strlen(key), NULL));
		break;
	case 14 ... 16:
		n = 1 + (unsigned int)vt_below(rng, 16);
		for (i = 0; i < n; i++) {
			k = (unsigned int)vt_below(rng, KEYS);
			snprintf(keys[i], sizeof(keys[i]), "chaos-%u", k);
			len = len_of(k) < 20000 ? len_of(k) : 20000;
			/* Those that are cut would have wrong bytes. */
			if (len != len_of(k)) {
				snprintf(keys[i], sizeof(keys[i]), "chaos-cut-%u", k);
			}
			vt_fill(p + i * 20480, k, 0, len);
			kvc_prep_data(&ios[i], keys[i], strlen(keys[i]),
				      p + i * 20480, len);
		}
		got = kvc_batch_put(kvc, call, ios, n);
		for (i = 0; i < n; i++)
			note_answer("batch put", got < 0 ? (int)got : ios[i].status);
		break;
	case 17:
		list = kvc_list_open(kvc, call, "chaos-1", 7, 0);
		for (n = 0; (got = kvc_list_next(list, &o)) == 1; n++)
			vt_expect(o.key_len < 24 && !memcmp(o.key, "chaos-1", 7),
				  "list: a key that was never put");
		vt_expect(!got || may_be((int)got) || got == -EINVAL,
			  "list: %zd", got);
		kvc_list_close(list);
		break;
	case 18:
		got = kvc_info(kvc, &info, NULL, 0);
		vt_expect(!got || got == -ENODEV, "info: %zd", got);
		break;
	default:
		got = kvc_pools(kvc, pools, 4);
		vt_expect(got >= 0 && got <= 1, "pools: %zd", got);
	}
}

static void *hammer(void *arg)
{
	const struct kvc_call calls[] = {
		{ .deadline_ms = 10000 }, { .deadline_ms = 5 }, { .deadline_ms = 0 },
	};
	struct vt_rng rng = { 100 + (uintptr_t)arg };
	uint8_t *p = vt_map(MEM);

	while (!LOAD(stop))
		one_call(&rng, &p, &calls[vt_below(&rng, 16) ? 0 :
					 1 + vt_below(&rng, 2)]);
	munmap(p, MEM);
	return NULL;
}

static void hammers_start(pthread_t *t)
{
	unsigned int i;

	stop = false;
	served = refused = 0;
	memset(answers, 0, sizeof(answers));
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, hammer, (void *)(uintptr_t)i);
}

static void hammers_stop(pthread_t *t)
{
	unsigned int i;

	STORE(stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	vt_note("%llu answers of a pool, %llu of none: done %llu, ENOENT %llu, EEXIST %llu, EAGAIN %llu, ETIMEDOUT %llu, ESTALE %llu, ENODEV %llu, ECANCELED %llu",
		(unsigned long long)served, (unsigned long long)refused,
		(unsigned long long)answers[0], (unsigned long long)answers[ENOENT],
		(unsigned long long)answers[EEXIST],
		(unsigned long long)answers[EAGAIN],
		(unsigned long long)answers[ETIMEDOUT],
		(unsigned long long)answers[ESTALE],
		(unsigned long long)answers[ENODEV],
		(unsigned long long)answers[ECANCELED]);
}

/* --- attach, detach and abandon under load --- */

static uint64_t others_won, attaches;

/* A second one that detaches now and then, but leaves some to the first. */
static void *rival(void *arg)
{
	struct vt_rng rng = { 900 };
	int got;

	(void)arg;
	while (!LOAD(stop)) {
		vt_sleep_ms(20 + (unsigned int)vt_below(&rng, 400));
		if (2 * others_won > LOAD(attaches))
			continue;
		got = kvc_detach(kvc, 1, 20000);
		vt_expect(!got || got == -ENODEV || got == -EBUSY ||
			  got == -ETIMEDOUT, "detach by a rival: %d", got);
		others_won += !got;
	}
	return NULL;
}

static void test_come_and_go(void)
{
	uint64_t end = vt_ms() + seconds * 1000, start, longest = 0;
	unsigned int detached = 0, abandoned = 0, attached = 0;
	struct vt_rng rng = { 8 };
	pthread_t t[THREADS], r;
	char reason[768];
	int got;

	vt_begin("attach, detach and abandon for %llu s under 4 threads and a rival",
		 (unsigned long long)seconds);
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	hammers_start(t);
	pthread_create(&r, NULL, rival, NULL);
	/* For longer where a crash, a wait and an attach take most of that. */
	while (vt_ms() < end || ((attached < 3 || !detached || !abandoned) &&
				 vt_ms() < end + 180000)) {
		vt_sleep_ms((unsigned int)vt_below(&rng, 300));
		start = vt_ms();
		switch (vt_below(&rng, 3)) {
		case 0:
			got = kvc_detach(kvc, 1, 20000);
			detached += !got;
			vt_expect(!got || got == -ENODEV || got == -EBUSY,
				  "detach: %d", got);
			break;
		case 1:
			got = abandon(1);
			abandoned += !got;
			vt_expect(!got || got == -ENODEV || got == -EBUSY,
				  "abandon: %d", got);
			break;
		}
		if (vt_ms() - start > longest)
			longest = vt_ms() - start;
		got = attach(vt_below(&rng, 2) ? 1 : 0, reason);
		attached += got > 0;
		__atomic_store_n(&attaches, attached, __ATOMIC_RELAXED);
		/* There already, or it was taken away while it was joining. */
		vt_expect(got == 1 || got == -EBUSY, "attach: %d %s", got, reason);
	}
	hammers_stop(t);
	pthread_join(r, NULL);
	vt_note("%u times attached, %u detached and %llu by the rival, %u abandoned; the longest took %llu ms",
		attached, detached, (unsigned long long)others_won, abandoned,
		(unsigned long long)longest);
	vt_expect(attached > 2 && detached && abandoned, "too little happened");
	vt_expect(longest < 15000, "one took %llu ms", (unsigned long long)longest);
	kvc_detach(kvc, 1, 30000);
	got = attach_soon();
	vt_expect(got == 1, "attach in the end: %d", got);
	got = kvc_detach(kvc, 1, 30000);
	vt_expect(!got, "detach in the end: %d", got);
	vt_end();
}

/* Calls in progress end, new ones are refused. */
static void test_drain(void)
{
	unsigned int i;
	pthread_t t[THREADS];
	uint64_t start, longest = 0;
	int got;

	vt_begin("a detach under load drains: calls end, later ones say ENODEV");
	for (i = 0; i < 5; i++) {
		got = attach_soon();
		vt_expect(got == 1, "attach: %d", got);
		hammers_start(t);
		vt_sleep_ms(400);
		start = vt_ms();
		got = kvc_detach(kvc, 1, 20000);
		start = vt_ms() - start;
		if (start > longest)
			longest = start;
		vt_expect(!got, "detach: %d", got);
		vt_expect(kvc_exists(kvc, NULL, "x", 1, NULL) == -ENODEV,
			  "exists after the detach is not ENODEV");
		vt_sleep_ms(100);
		hammers_stop(t);
	}
	vt_note("the longest detach took %llu ms", (unsigned long long)longest);
	vt_end();
}

/* --- signals --- */

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms = alarms + 1;
}

static void test_alarms(void)
{
	const struct itimerval fast = { { 0, 700 }, { 0, 700 } }, none = { 0 };
	struct sigaction act = { .sa_handler = on_alarm };
	uint64_t end;
	pthread_t t[THREADS];
	int got;

	vt_begin("signals with a handler during calls: the calls go on");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	sigaction(SIGALRM, &act, NULL);
	hammers_start(t);
	setitimer(ITIMER_REAL, &fast, NULL);
	end = vt_ms() + seconds * 500;
	/* For longer where a signal takes long. */
	while (vt_ms() < end || (alarms <= 100 && vt_ms() < end + 120000))
		usleep(50000);
	setitimer(ITIMER_REAL, &none, NULL);
	hammers_stop(t);
	vt_note("%d signals", (int)alarms);
	vt_expect(alarms > 100, "only %d signals", (int)alarms);
	vt_expect(!refused, "%llu calls were refused or cut short",
		  (unsigned long long)refused);
	vt_end();
}

static void test_attach_signal(void)
{
	const struct itimerval soon = { { 0, 0 }, { 0, 300000 } };
	struct sigaction act = { .sa_handler = on_alarm };
	char reason[768];
	int got;

	vt_begin("a signal to an attach that watches the slots: EINTR, and another one works");
	sigaction(SIGALRM, &act, NULL);
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	got = abandon(1);
	vt_expect(!got, "abandon: %d", got);
	/* It must watch for longer than a lease. */
	setitimer(ITIMER_REAL, &soon, NULL);
	got = attach(1, reason);
	vt_expect(got == -EINTR, "attach: %d", got);
	vt_expect(kvc_pools(kvc, NULL, 0) == 0, "it is attached");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	got = kvc_detach(kvc, 1, 0);
	vt_expect(!got, "detach: %d", got);
	vt_end();
}

/* A child that hammers until it is killed. */
static pid_t start_victim(uint64_t seed, bool hang)
{
	const struct kvc_call call = { .deadline_ms = hang ? 120000 : 20000 };
	pid_t pid = fork();

	vt_need(pid >= 0, "fork");
	if (!pid) {
		struct vt_rng rng = { seed };
		uint8_t *p = vt_map(MEM);

		for (;;)
			one_call(&rng, &p, &call);
	}
	return pid;
}

/* How long it takes to be gone after SIGKILL, in ms. */
static uint64_t kill_and_wait(pid_t pid)
{
	uint64_t start = vt_ms();
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (vt_ms() - start > 60000)
			return UINT64_MAX;
		usleep(1000);
	}
	return vt_ms() - start;
}

static void test_kills(void)
{
	uint64_t end = vt_ms() + seconds * 1000, took, longest = 0;
	struct vt_rng rng = { 77 };
	unsigned int n = 0, i;
	pid_t pids[THREADS];
	struct kvcache_info info;
	int got;

	vt_begin("processes killed in the middle of calls die at once and leave nothing behind");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	while (vt_ms() < end || n < 20) {
		for (i = 0; i < THREADS; i++)
			pids[i] = start_victim(n * 10 + i, false);
		vt_sleep_ms((unsigned int)vt_below(&rng, 150));
		for (i = 0; i < THREADS; i++, n++) {
			took = kill_and_wait(pids[i]);
			if (took > longest)
				longest = took;
		}
	}
	vt_note("%u processes were killed, the longest took %llu ms", n,
		(unsigned long long)longest);
	vt_expect(longest < 5000, "one took %llu ms to die",
		  (unsigned long long)longest);
	got = kvc_info(kvc, &info, NULL, 0);
	vt_expect(!got && !info.bad_data, "info: %d, or objects were blamed", got);
	/* Nothing holds the pool. */
	took = vt_ms();
	got = kvc_detach(kvc, 1, 10000);
	vt_expect(!got && vt_ms() - took < 10000, "detach: %d", got);
	vt_end();
}

/* One whose attach is watching the slots. */
static void test_kill_attach(void)
{
	char reason[768];
	uint64_t took;
	pid_t pid;
	int got;

	vt_begin("a process killed while it attaches dies at once, and another one attaches");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	got = abandon(1);
	vt_expect(!got, "abandon: %d", got);
	pid = fork();
	vt_need(pid >= 0, "fork");
	if (!pid) {
		attach(1, reason);
		_exit(0);
	}
	vt_sleep_ms(400);
	took = kill_and_wait(pid);
	vt_expect(took < 3000, "it took %llu ms to die", (unsigned long long)took);
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	got = kvc_detach(kvc, 1, 0);
	vt_expect(!got, "detach: %d", got);
	vt_end();
}

/*
 * With a member that says nothing (a script has stopped it and says so on our
 * standard input; then it is asked to go on): callers with long deadlines
 * can be killed, and others go on when it does.
 */
static void test_stuck(void)
{
	uint64_t took, longest = 0;
	pid_t pids[THREADS];
	unsigned int i;
	char line[16];
	int got;

	vt_begin("processes killed while a member hangs die all the same");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	for (i = 0; i < THREADS; i++)
		pids[i] = start_victim(500 + i, true);
	vt_sleep_ms(500);
	vt_note("stop");
	vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
	vt_sleep_ms(1500);
	for (i = 0; i < THREADS; i++) {
		took = kill_and_wait(pids[i]);
		if (took > longest)
			longest = took;
	}
	vt_note("the longest took %llu ms", (unsigned long long)longest);
	vt_expect(longest < 5000, "one took %llu ms to die",
		  (unsigned long long)longest);
	vt_note("go on");
	vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
	/* It is probed and comes back. */
	{
		const struct kvc_call call = { .deadline_ms = 10000 };
		uint8_t *p = vt_map(1 << 20);
		char key[24];

		for (i = 0; i < 20; i++) {
			snprintf(key, sizeof(key), "afterwards-%u", i);
			vt_fill(p, i, 0, 100000);
			got = again_put(kvc, &call, key, strlen(key), p, 100000);
			vt_expect(!got, "put %s: %d", key, got);
		}
	}
	got = kvc_detach(kvc, 1, 20000);
	vt_expect(!got, "detach: %d", got);
	vt_end();
}

/*
 * Deletes that give up while all members hang: their records go out when the
 * members are back, and from then on nothing of it may be hit.
 */
static void test_stuck_delete(void)
{
	const struct kvc_call call = { .deadline_ms = 10000 };
	const struct kvc_call brief = { .deadline_ms = 200 };
	enum { N = 40 };
	struct kvcache_io ios[N];
	uint64_t soon = vt_now() + 3600, end;
	unsigned int i, late = 0, still = 0, tries = 0;
	uint8_t *p = vt_map(1 << 16);
	char keys[N][24], line[16];
	int got;

	vt_begin("a delete that timed out is done when its record is on media");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	for (i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "late-%u", i);
		vt_fill(p, i, 0, 5000);
		kvc_prep_data(&ios[0], keys[i], strlen(keys[i]), p, 5000);
		if (i & 1)
			kvc_set_pin(&ios[0], soon);
		got = again_one(kvc, KVCACHE_IOC_PUT, &call, &ios[0]);
		vt_expect(!got, "put %s: %d", keys[i], got);
	}
	/* On a busy machine members are suspect before the deletes are sent. */
	for (tries = 0; !late && tries < 10; tries++) {
		vt_note("stop all");
		vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
		for (i = 0; i < N; i++)
			kvc_prep(&ios[i], keys[i], strlen(keys[i]));
		got = (int)kvc_batch_delete(kvc, &brief, ios, N);
		vt_expect(got == 0, "delete: %d", got);
		for (i = 0; i < N; i++) {
			vt_expect(ios[i].status == -ETIMEDOUT ||
				  ios[i].status == -EAGAIN,
				  "delete %s: %d", keys[i], ios[i].status);
			late += ios[i].status == -ETIMEDOUT;
		}
		vt_note("go on");
		vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
		vt_sleep_ms(late ? 0 : 2000);
	}
	end = vt_ms() + 15000;
	do {
		usleep(100000);
		for (i = 0, still = 0; i < N; i++)
			still += kvc_exists(kvc, &call, keys[i], strlen(keys[i]),
					    NULL) != -ENOENT;
	} while (still > N - late && vt_ms() < end);
	vt_note("%u of %d deletes were late, %u objects are there", late, N, still);
	vt_expect(late > 0, "no delete was late");
	vt_expect(still == N - late, "%u objects are there, %u were not deleted",
		  still, N - late);
	for (i = 0; i < N; i++) {
		if (ios[i].status != -ETIMEDOUT)
			continue;
		vt_fill(p, i + 100, 0, 6000);
		got = again_put(kvc, &call, keys[i], strlen(keys[i]), p, 6000);
		vt_expect(!got, "put %s anew: %d", keys[i], got);
	}
	got = kvc_detach(kvc, 1, 20000);
	vt_expect(!got, "detach: %d", got);
	munmap(p, 1 << 16);
	vt_end();
}

/* A whole listing; @n: keys that begin with "listed". */
static int list_all(const struct kvc_call *call, unsigned int *n)
{
	struct kvc_list *list = kvc_list_open(kvc, call, "listed", 6, 0);
	struct kvc_object o;
	int got;

	vt_need(list, "open a listing");
	for (*n = 0; (got = kvc_list_next(list, &o)) == 1;)
		*n += 1;
	kvc_list_close(list);
	return got;
}

/* Keys stand on media: a listing that waits for it has a deadline, too. */
#define NVME_KEYS 160

struct retrieve {
	int fd;
	char key[24];
	uint8_t *memory;
	int status;
	uint64_t took;
};

static void *retrieve(void *arg)
{
	struct retrieve *r = arg;
	struct nk_cmd cmd;

	r->took = vt_ms();
	nk_prep(&cmd, NK_RETRIEVE, r->key, strlen(r->key), r->memory, 20000);
	r->status = nk_ioctl(r->fd, &cmd);
	r->took = vt_ms() - r->took;
	return NULL;
}

/* A key whose object is on the member that hangs. */
static bool find_suspect(char *key, uint8_t *p)
{
	const struct kvc_call brief = { .tenant = KVCACHE_TENANT_NVME,
					.deadline_ms = 100 };
	uint64_t until = vt_ms() + 10000;
	unsigned int i;

	while (vt_ms() < until) {
		/* Memory that may be written to later is not used for more. */
		for (i = 0; i < NVME_KEYS; i++) {
			snprintf(key, 24, "nvme-%u", i);
			if (kvc_get(kvc, &brief, key, strlen(key),
				    p + i * 20480UL, 20000, NULL) == -EAGAIN)
				return true;
		}
	}
	return false;
}

static void test_stuck_retrieve(void)
{
	const struct kvc_call call = { .tenant = KVCACHE_TENANT_NVME,
				       .deadline_ms = 20000 };
	uint8_t *p = vt_map(NVME_KEYS * 20480UL);
	struct retrieve r = { .memory = vt_map(20480) };
	pthread_t thread;
	unsigned int i;
	char line[16];
	int got;

	vt_begin("a Retrieve waits a little for a member that is suspect");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	r.fd = open("/dev/kvcache1", O_RDWR | O_CLOEXEC);
	vt_need(r.fd >= 0, "open /dev/kvcache1: %s", strerror(errno));
	/* In segments on both members. */
	for (i = 0; i < NVME_KEYS; i++) {
		snprintf(r.key, sizeof(r.key), "nvme-%u", i);
		vt_fill(p, 99, 0, 20000);
		got = again_put(kvc, &call, r.key, strlen(r.key), p, 20000);
		vt_expect(!got, "put %s: %d", r.key, got);
	}
	/*
	 * It waits for two seconds, and a machine that gets no CPU may take longer
	 * to resume the member: then it is tried again.
	 */
	for (i = 0; i < 10; i++) {
		vt_note("stop");
		vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
		if (!vt_expect(find_suspect(r.key, p), "no member is suspect")) {
			vt_note("go on");
			vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
			break;
		}
		vt_need(!pthread_create(&thread, NULL, retrieve, &r), "a thread");
		vt_sleep_ms(200);
		vt_note("go on");
		pthread_join(thread, NULL);
		vt_note("it ended with %x after %llu ms", (unsigned int)r.status,
			(unsigned long long)r.took);
		vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
		vt_expect(r.took > 100, "it did not wait");
		if (r.status != NK_NOT_READY)
			break;
		vt_expect(r.took >= 1900, "it did not wait for long");
	}
	vt_expect(!r.status && vt_differs(r.memory, 99, 0, 20000) < 0,
		  "status %x, or wrong bytes", (unsigned int)r.status);
	close(r.fd);
	got = kvc_detach(kvc, 1, 20000);
	vt_expect(!got, "detach: %d", got);
	vt_end();
}

static void test_stuck_list(void)
{
	const struct kvc_call call = { .deadline_ms = 20000 };
	const struct kvc_call brief = { .deadline_ms = 300 };
	const struct kvc_call patient = { .deadline_ms = 120000 };
	uint8_t *p = vt_map(1 << 17);
	unsigned int i, n;
	uint64_t took;
	char key[24], line[16];
	pid_t pid;
	int got;

	vt_begin("a listing ends with its deadline, or its process, while members hang");
	got = attach_soon();
	vt_expect(got == 1, "attach: %d", got);
	/* So much that segments are sealed. */
	for (i = 0; i < 80; i++) {
		snprintf(key, sizeof(key), "listed-%u", i);
		vt_fill(p, i, 0, 100000);
		got = again_put(kvc, &call, key, strlen(key), p, 100000);
		vt_expect(!got, "put %s: %d", key, got);
	}
	vt_sleep_ms(1500);
	got = list_all(&call, &n);
	vt_expect(!got && n == 80, "list: %d, %u keys", got, n);
	vt_note("stop all");
	vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
	pid = fork();
	vt_need(pid >= 0, "fork");
	if (!pid) {
		list_all(&patient, &n);
		vt_sleep_ms(60000);
		_exit(0);
	}
	took = vt_ms();
	got = list_all(&brief, &n);
	took = vt_ms() - took;
	vt_note("it ended with %d after %llu ms", got, (unsigned long long)took);
	vt_expect(got == -ETIMEDOUT || got == -EAGAIN, "list: %d, %u keys", got, n);
	vt_expect(took < 3000, "it took %llu ms", (unsigned long long)took);
	took = kill_and_wait(pid);
	vt_note("the process took %llu ms to die", (unsigned long long)took);
	vt_expect(took < 3000, "it took %llu ms to die", (unsigned long long)took);
	vt_note("go on");
	vt_need(fgets(line, sizeof(line), stdin), "a word from the script");
	took = vt_ms();
	do {
		vt_sleep_ms(200);
		got = list_all(&call, &n);
	} while (got && vt_ms() - took < 15000);
	vt_expect(!got && n == 80, "list afterwards: %d, %u keys", got, n);
	got = kvc_detach(kvc, 1, 20000);
	vt_expect(!got, "detach: %d", got);
	munmap(p, 1 << 17);
	vt_end();
}

static const struct {
	const char *name;
	bool script;		/* needs one to stop members */
	void (*run)(void);
} tests[] = {
	{ "come_and_go", false, test_come_and_go },
	{ "drain", false, test_drain },
	{ "alarms", false, test_alarms },
	{ "attach_signal", false, test_attach_signal },
	{ "kills", false, test_kills },
	{ "kill_attach", false, test_kill_attach },
	{ "stuck", true, test_stuck },
	{ "stuck_delete", true, test_stuck_delete },
	{ "stuck_list", true, test_stuck_list },
	{ "stuck_retrieve", true, test_stuck_retrieve },
};

int main(int argc, char **argv)
{
	uint64_t start;
	unsigned int i;

	vt_need(argc >= 4, "usage: rubbish_chaos TEST SECONDS MEMBER...");
	seconds = (uint64_t)atoi(argv[2]);
	members = (const char *const *)argv + 3;
	nr_members = (unsigned int)argc - 3;
	kvc = kvc_open(NULL, 0);
	vt_need(kvc, "open " KVC_DEVICE ": errno %d", errno);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (strcmp(argv[1], "all") ? strcmp(argv[1], tests[i].name) :
					     tests[i].script)
			continue;
		start = vt_ms();
		tests[i].run();
		if (kvc_pools(kvc, NULL, 0) > 0)
			kvc_detach(kvc, 1, 30000);
		vt_note("%s: %llu ms", tests[i].name,
			(unsigned long long)(vt_ms() - start));
	}
	vt_exit();
}
