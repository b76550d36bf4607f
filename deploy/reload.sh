#!/bin/sh
# systemd reads the unit again after the package for Debian was installed, upgraded or removed. A service that
# runs goes on until it is restarted.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
