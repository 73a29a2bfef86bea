# SPDX-License-Identifier: Apache-2.0
# A machine with a network of its own, in which a holder finds its way out: nothing of it touches the real one.
#
#     unshare -n -m sh world.sh TUN RESOLV_CONF UID PATH PYTHON WORLD.PY HOLDER...
#
# "wan" leads to a world that knows nothing of pods: 203.0.113.7 with a web server and a DNS server there.
set -e
TUN=$1 RESOLV=$2 WHO=$3 TOOLS=$4 PYTHON=$5 WORLD=$6
shift 6
ip link set lo up
unshare -n sleep 100 &
OTHER=$!
until [ "$(readlink /proc/$OTHER/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add wan type veth peer name wan netns $OTHER
ip address add 198.51.100.2/24 dev wan
ip link set wan up
ip route add default via 198.51.100.1
nsenter -t $OTHER -n sh -c '
    ip link set lo up
    ip address add 198.51.100.1/24 dev wan
    ip address add 203.0.113.7/32 dev lo
    ip link set wan up'
nsenter -t $OTHER -n "$PYTHON" -I "$WORLD" &
mount --bind "$TUN" /dev/net/tun
mount --bind "$RESOLV" /etc/resolv.conf
SETPRIV=$(command -v setpriv)
PATH=$TOOLS
export PATH
exec "$SETPRIV" --reuid "$WHO" --regid "$WHO" --clear-groups "$@"
