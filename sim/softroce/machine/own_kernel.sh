# As guest.sh does in a machine, on this kernel: makes the link and runs the command of SHARE/.guest.
#   own_kernel.sh SHARE
here=$(dirname "$0")
. "$1/.guest/link.env"
sh "$here/link.sh" up || exit
touch "$1/.guest/link_made"
sh "$here/run_command.sh" "$1"
