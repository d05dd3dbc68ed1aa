#!/bin/sh
# Makes what must not be in a repository: an authority, the broker's certificate, and a password for
# every account. What is there already is kept, so it may be run again for more sensors.
#
#   deploy/prepare.sh FOLDER HOST[,HOST] [SENSOR ...]
#
# HOST is the name or address by which the daemon and the sensors reach the broker; there may be
# several. Needs openssl and mosquitto_passwd (Debian: apt-get install openssl mosquitto).
#
# The folder is closed to others; the files in it are readable, because containers read them under
# users of their own.
set -eu
[ $# -ge 2 ] || { echo "usage: $0 FOLDER HOST[,HOST] [SENSOR ...]" >&2; exit 2; }
folder=$1 hosts=$2
shift 2
for program in openssl mosquitto_passwd; do
    command -v "$program" >/dev/null || { echo "$0: $program is not installed" >&2; exit 69; }
done

umask 022
mkdir -p "$folder/accounts"
chmod 700 "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

named=
for host in $(echo "$hosts" | tr , ' '); do
    case $host in
        *[!0-9.]*) named=$named,DNS:$host ;;
        *) named=$named,IP:$host ;;
    esac
done
cat >"$work/openssl" <<END
[req]
distinguished_name = name
prompt = no
[name]
CN = monitor authority
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[broker]
basicConstraints = CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = ${named#,}
END

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

if [ ! -e "$folder/ca.pem" ]; then
    key "$folder/ca.key"
    chmod 600 "$folder/ca.key"
    openssl req -x509 -new -config "$work/openssl" -extensions authority -days 3650 \
        -key "$folder/ca.key" -out "$folder/ca.pem"
fi
# The daemon's metric monitor_tls_peer_not_after_seconds and an alert tell when it must be made anew:
# remove broker.pem and run this again.
if [ ! -e "$folder/broker.pem" ]; then
    [ -e "$folder/broker.key" ] || key "$folder/broker.key"
    chmod 644 "$folder/broker.key"
    openssl req -new -config "$work/openssl" -subj "/CN=${hosts%%,*}" \
        -key "$folder/broker.key" -out "$work/request"
    openssl x509 -req -in "$work/request" -days 825 -CA "$folder/ca.pem" -CAkey "$folder/ca.key" \
        -set_serial "0x$(openssl rand -hex 16)" -extfile "$work/openssl" -extensions broker \
        -out "$folder/broker.pem" 2>/dev/null
fi

for account in monitor references maintenance "$@"; do
    case $account in
        *[!A-Za-z0-9_.:-]* | "") echo "$0: '$account' cannot be a sensor's name" >&2; exit 65 ;;
    esac
    [ -e "$folder/accounts/$account" ] || openssl rand -hex 24 >"$folder/accounts/$account"
done
for account in "$folder"/accounts/*; do
    printf '%s:%s\n' "${account##*/}" "$(cat "$account")"
done >"$work/passwords"
mosquitto_passwd -U "$work/passwords"
cp "$work/passwords" "$folder/passwords"
chmod 644 "$folder/passwords"
[ -e "$folder/grafana-admin" ] || openssl rand -hex 24 >"$folder/grafana-admin"
echo "$folder: authority, certificate of $hosts, $(grep -c . "$folder/passwords") accounts"
