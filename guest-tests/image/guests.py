# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes into a guest: packages, modules, and what is left out.

The same for all guests; where they differ is told by rows.py.
"""

# What a user finds in a guest, beside its kernel.
PACKAGES = """
    base-files base-passwd bash coreutils dash debianutils diffutils findutils
    gawk grep gzip hostname kmod less mount procps psmisc sed strace tar
    util-linux busybox-static
    bpftool ethtool iperf3 iproute2 iputils-ping pciutils socat
    ibverbs-providers ibverbs-utils infiniband-diags perftest qperf rdma-core
    rdmacm-utils
    python3 python3-pyverbs python3-scapy python3-yaml
    ucx-utils libfabric-bin openmpi-bin netpipe-openmpi hpcc python3-mpi4py
    linuxptp numactl
    fio nvme-cli nfs-kernel-server open-iscsi libiscsi-bin
""".split()

# Packages that others depend on but that do nothing in a guest whose first
# process is ours, or that only plug-ins for GPUs and for other hosts load.
# They are left out, with their files. Patterns: versions differ by suite.
LEFT_OUT = """
    adduser debconf dpkg init-system-helpers libapparmor1
    libdebconfclient0 libpam-modules libpam-modules-bin libpam-runtime
    libsemanage-common libsemanage2 libsepol2
    libsystemd-shared login.defs passwd systemd systemd-sysv tzdata udev
    perl-modules-5.* libperl5.* perl
    libllvm* libz3-4 libamd-comgr* libamdhip64-* libhsa-runtime64-1
    libhsakmt1 libze1 ocl-icd-libopencl1 libdrm2 libdrm-amdgpu1 libdrm-common
    libhwloc-plugins libedit2 libxnvctrl0 libx11-6
    libx11-data libxext6 libxcb1 libxau6 libxdmcp6
    openssh-client libfido2-1 libcbor0.*
""".split()

# Headers and libraries to compile programs for the guest against.
SYSROOT_PACKAGES = ["libc6-dev", "libibverbs-dev", "librdmacm-dev"]

# Modules to carry, with all that they depend on. A name ending in / is a
# folder of the kernel's tree.
MODULES = """
    drivers/net/ethernet/mellanox/ drivers/infiniband/
    net/9p/ fs/9p/ fs/erofs/ fs/overlayfs/ fs/configfs/
    drivers/nvme/ drivers/vfio/ drivers/vhost/ drivers/dma-buf/
    net/sunrpc/ fs/nfs/ fs/nfsd/ fs/lockd/ fs/nfs_common/ net/rds/ net/smc/
    drivers/target/ drivers/block/null_blk/
    sd_mod sg
    virtio_blk virtio_console virtio_net virtio_rng virtio_balloon
    dummy tun veth vxlan bonding macvlan 8021q bridge netconsole
    geneve ip_gre ip6_gre ipip sit ip6_tunnel macsec pppoe gcm ctr ghash_generic
    crc32_generic crc32c_generic crc32c_cryptoapi
    e1000e igb null_blk tcp_diag inet_diag udp_diag
    nf_tables nft_compat sch_ingress sch_htb sch_netem sch_fq sch_prio
    sch_etf sch_mqprio
    cls_flower cls_matchall cls_bpf cls_fw act_mirred act_gact act_skbedit
    uio uio_pci_generic msr
""".split()

# What the small initramfs loads to reach the root, in this order; a kernel that
# has one built in has no module of that name. erofs needs libcrc32c, which
# finds its algorithm by name, not by dependency.
BOOT_MODULES = ["crc32c_generic", "virtio_pci", "virtio_blk",
                "virtio_console", "erofs", "overlay"]

# Not wanted in the image: nobody reads it in a guest.
PRUNE = """
    usr/share/man usr/share/info usr/share/locale usr/share/i18n
    usr/share/lintian usr/share/bug usr/share/zsh usr/share/bash-completion
    usr/share/debconf usr/share/systemd usr/lib/systemd usr/lib/udev
    usr/share/perl usr/include usr/lib/x86_64-linux-gnu/gconv
    usr/share/fish usr/share/applications usr/share/pixmaps
""".split()
