/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVC_DEBUGFS_H
#define KVC_DEBUGFS_H

void kvc_debugfs_init(void);
void kvc_debugfs_exit(void);

#endif
