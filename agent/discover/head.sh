# Tells what this box is, one fact a line: its name, a tab, its value.
say() { printf '%s\t%s\n' "$1" "$2"; }
if [ -r /etc/os-release ]; then
  say os "$(. /etc/os-release; printf '%s' "${PRETTY_NAME:-$ID}")"
else
  say os "$(uname -sr)"
fi
say arch "$(uname -m)"
say cpus "$(nproc 2>/dev/null || echo 0)"
say memory "$(awk '/^MemTotal:/ {print $2}' /proc/meminfo 2>/dev/null)"
say disk "$(df -Pk "${TMPDIR:-/tmp}" 2>/dev/null | awk 'NR == 2 {print $4}')"
for device in /dev/nvidia0 /dev/kfd /dev/dri/renderD128; do
  [ -e "$device" ] && say gpu "$device"
done
have() {
  command -v "$1" >/dev/null 2>&1 && say "tool $1" ""
}
tool() {
  name=$1
  shift
  command -v "$name" >/dev/null 2>&1 || return 0
  say "tool $name" "$("$name" "$@" 2>&1 </dev/null | awk '/[0-9]/ {print; exit}')"
}
