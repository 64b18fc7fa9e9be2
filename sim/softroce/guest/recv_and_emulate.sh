#!/bin/sh
# In the guest: `framelane recv` on the RDMA device, `framelane emulate` on the other end of the wire.
#   recv_and_emulate.sh framelane...       (the command, as words)
set -eu
: "${SHARE:?}" "${RDMA_SENDER:?}" "${RDMA_RECEIVER_IP:?}"
"$@" recv --transport verbs --plan "$SHARE/plan.toml" --publish "$SHARE/session.json" --output "$SHARE/frames.h5" \
    >"$SHARE/recv.txt" 2>&1 &
receiver=$!
while [ ! -f "$SHARE/session.json" ] && kill -0 "$receiver" 2>/dev/null; do
    sleep 0.2
done
"$@" emulate --to "$RDMA_RECEIVER_IP" --transport packet --interface "$RDMA_SENDER" --frames 20 \
    --impair drop@8+100 --report "$SHARE/emulate.json" >"$SHARE/emulate.txt" 2>&1
wait "$receiver"
