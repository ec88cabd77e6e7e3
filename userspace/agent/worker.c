// SPDX-License-Identifier: MIT
/* A thread for calls into the kernel. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "worker.h"

/**
 * struct worker - the thread
 * @kernel: what it calls
 * @thread: itself
 * @lock: guards what follows
 * @wake: there is a job, or an end
 * @job: to be done or being done
 * @finished: it is done
 * @stop: end
 * @busy: for its master: a job was given and not taken back
 * @fd: readable when a job is done
 */
struct worker {
	struct kernel *kernel;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job *job;
	bool finished;
	bool stop;
	bool busy;
	int fd;
};

static void attach(struct kernel *kernel, struct job *job)
{
	job->attached = false;
	job->reason[0] = '\0';
	job->error = kernel_find(kernel, &job->pool, job->reason);
	if (job->error == -ENODEV) {
		job->error = kernel_attach(kernel, &job->pool, job->reason);
		job->attached = !job->error;
	}
}

static void poll_state(struct kernel *kernel, struct job *job)
{
	int error = kernel_info(kernel, &job->pool);

	job->known = !error;
	job->nr_ags = 0;
	if (!error) {
		job->nr_ags = kernel_ags(kernel, job->ags, KERNEL_AGS_MAX);
		if (job->nr_ags < 0 && job->nr_ags != -ESTALE)
			error = job->nr_ags;
		if (job->nr_ags < 0)
			job->nr_ags = 0;
	}
	if (!job->error)
		job->error = error;
}

static void carry_out(struct kernel *kernel, struct job *job)
{
	job->error = 0;
	switch (job->kind) {
	case JOB_ATTACH:
		attach(kernel, job);
		break;
	case JOB_GRANT:
		job->error = kernel_grant(kernel, job->slot, job->incarnation,
					  job->deadline_ns, job->grant,
					  job->nr_grant);
		poll_state(kernel, job);
		break;
	case JOB_POLL:
		poll_state(kernel, job);
		break;
	case JOB_LOOK:
		poll_state(kernel, job);
		job->nr_slots = kernel_slots(kernel, job->slots,
					     KVCACHE_HOSTS_MAX);
		if (!job->error && job->nr_slots < 0)
			job->error = job->nr_slots;
		break;
	case JOB_DETACH:
		job->error = kernel_detach(kernel, job->timeout_ms);
		break;
	}
}

static void *work(void *argument)
{
	struct worker *w = argument;
	uint64_t one = 1;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->stop && (!w->job || w->finished))
			pthread_cond_wait(&w->wake, &w->lock);
		if (w->stop)
			break;
		pthread_mutex_unlock(&w->lock);
		carry_out(w->kernel, w->job);
		pthread_mutex_lock(&w->lock);
		w->finished = true;
		if (write(w->fd, &one, sizeof(one)) < 0)
			abort();
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct worker *worker_start(struct kernel *kernel)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->kernel = kernel;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		abort();
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	if (pthread_create(&w->thread, NULL, work, w))
		abort();
	return w;
}

void worker_stop(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	close(w->fd);
	free(w);
}

int worker_fd(const struct worker *w)
{
	return w->fd;
}

bool worker_busy(const struct worker *w)
{
	return w->busy;
}

void worker_do(struct worker *w, struct job *job)
{
	pthread_mutex_lock(&w->lock);
	w->busy = true;
	w->job = job;
	w->finished = false;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

struct job *worker_done(struct worker *w)
{
	struct job *job = NULL;
	uint64_t count;

	pthread_mutex_lock(&w->lock);
	if (w->busy && w->finished) {
		job = w->job;
		w->job = NULL;
		w->finished = false;
		w->busy = false;
		if (read(w->fd, &count, sizeof(count)) < 0)
			count = 0;
	}
	pthread_mutex_unlock(&w->lock);
	return job;
}
