/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVC_CHARDEV_H
#define KVC_CHARDEV_H

int kvc_chardev_init(void);
void kvc_chardev_exit(void);

#endif
