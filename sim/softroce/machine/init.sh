#!/bin/busybox sh
# First process of the guest: loads the modules, mounts the host's root file system (read-only) and the share, and goes
# on there with guest.sh. The kernel's command line gives `share` and `guest`, their paths on the host, and `vfio`: with
# the modules for that.
box=/bin/busybox
end() { # a panic ends the machine: there is nothing to go on with
    echo "softroce: $1"
    exit 1
}
$box mount -t proc proc /proc
$box mount -t sysfs sysfs /sys
$box mount -t devtmpfs devtmpfs /dev
for module in $($box cat /modules/order ${vfio:+/modules/vfio}); do
    $box insmod "/modules/$module.ko" || end "the module $module cannot be loaded"
done
options=trans=virtio,version=9p2000.L,msize=1048576
$box mount -t 9p -o "ro,cache=loose,$options" root /root || end "the host's root file system cannot be mounted"
$box mount -t tmpfs tmpfs /root/run
$box mount -t tmpfs tmpfs /root/var/tmp
$box mount -t 9p -o "cache=none,$options" share "/root$share" || end "the share $share cannot be mounted"
for kind in proc sys dev; do
    $box mount --move "/$kind" "/root/$kind"
done
exec $box chroot /root /bin/sh "$guest" "$share"
