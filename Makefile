# SPDX-License-Identifier: GPL-2.0
#
# kvcache: the module, the library and the tools.
#
#	make			module for this kernel's headers (if there are
#				any) or Debian 6.1's, and userspace
#	make modules KDIR=...	module for a kernel's build directory
#	make modules-all	module for every supported kernel, W=1
#	make install		userspace, and the module if KDIR has been built
#	make demo		a pool over nvme-rdma in a virtual machine
#	make test		all suites; SUITE=a,b runs some
#	make soak		the same, for long
#	make bench		figures and pictures; MEMBERS="/dev/...": in real
#				time on these devices, which lose their content
#
# Variables: KDIR, DESTDIR, PREFIX; TRACE, SEED, REQUESTS, OBJECT_SIZE (demo).

KDIR	?= $(wildcard /lib/modules/$(shell uname -r)/build)

export TRACE SEED REQUESTS OBJECT_SIZE

.PHONY: all modules modules-all userspace install demo test soak bench sparse clean

all: modules userspace

modules:
	@if [ -n "$(KDIR)" ]; then \
		$(MAKE) -C "$(KDIR)" M=$(CURDIR) W=1 modules; \
	else \
		scripts/setup --for demo && scripts/kernel/build-module 6.1; \
	fi

modules-all:
	scripts/setup --for test
	scripts/kernel/build-module all

sparse:
	scripts/setup --for test
	scripts/kernel/sparse

userspace:
	$(MAKE) -C userspace

install: all
	$(MAKE) -C userspace install
	@if [ -n "$(KDIR)" ]; then \
		$(MAKE) -C "$(KDIR)" M=$(CURDIR) \
			INSTALL_MOD_PATH="$(DESTDIR)" modules_install; \
	else \
		echo "KDIR is not set: the module was not installed"; \
	fi

demo:
	@scripts/setup --for demo
	@scripts/demo

test:
	@scripts/setup --for test
	@tests/run

soak:
	@scripts/setup --for test
	@tests/run --soak

bench:
	@scripts/setup --for test
	@MEMBERS="$(MEMBERS)" scripts/bench

clean:
	rm -rf build
	@if [ -n "$(KDIR)" ]; then \
		$(MAKE) -C "$(KDIR)" M=$(CURDIR) clean; \
	fi
