#!/bin/sh
# The wire from a sender of packets to SoftRoCE: a pair of veth interfaces, with an rxe device on one of them.
#   link.sh up|down
# Names and addresses are those of rdma_link.py, in the environment. The sender's end has no IP address: packets come from
# an AF_PACKET socket there, and the kernel never answers them.
# Both ends are in the first network namespace: in any other, rxe (Linux 6.12) makes a device that receives nothing.
set -eu
: "${RDMA_DEVICE:?}" "${RDMA_RECEIVER:?}" "${RDMA_RECEIVER_MAC:?}" "${RDMA_RECEIVER_IP:?}"
: "${RDMA_SENDER:?}" "${RDMA_SOURCE_MAC:?}" "${RDMA_SOURCE_IP:?}"

case ${1:?usage: link.sh up|down} in
up)
    # The MTU comes first, rxe takes its path MTU from it: 4096 bytes and the headers need more than 1500.
    ip link add "$RDMA_SENDER" mtu 9000 address "$RDMA_SOURCE_MAC" type veth \
        peer name "$RDMA_RECEIVER" mtu 9000 address "$RDMA_RECEIVER_MAC"
    for end in "$RDMA_SENDER" "$RDMA_RECEIVER"; do
        echo 1 2>/dev/null >"/proc/sys/net/ipv6/conf/$end/disable_ipv6" || true # says nothing of its own on the wire
        ip link set "$end" up
    done
    ip address add "$RDMA_RECEIVER_IP/24" dev "$RDMA_RECEIVER"
    # Nobody answers ARP for the source; without this entry a QP does not get ready to receive.
    ip neighbour replace "$RDMA_SOURCE_IP" lladdr "$RDMA_SOURCE_MAC" dev "$RDMA_RECEIVER" nud permanent
    rdma link add "$RDMA_DEVICE" type rxe netdev "$RDMA_RECEIVER"
    ;;
down)
    rdma link delete "$RDMA_DEVICE" || true
    ip link delete "$RDMA_SENDER"
    ;;
esac
