#!/bin/sh
# Stops the service before the package for Debian is removed, not before an upgrade.
if [ "${1:-}" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now compat.service || true
fi
