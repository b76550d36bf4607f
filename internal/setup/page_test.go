package setup

import (
	"net/url"
	"testing"
)

// The step that starts the service listens on this machine only, and the systemd unit is started
// if the files are where it reads them.
func TestStart(t *testing.T) {
	for _, c := range []struct{ dir, data, addr, want string }{
		{"/home/me", "/home/me/compat-data", "127.0.0.1:8080",
			"set -a; . /home/me/compat.env; set +a; compat serve --addr 127.0.0.1:8080"},
		{"/data", "/data", ":8080", "set -a; . /home/me/compat.env; set +a; compat serve --addr :8080"},
		{"/etc/compat", "/var/lib/compat", "127.0.0.1:8080", "systemctl enable --now compat"},
	} {
		s := &Setup{Options: Options{
			Dir: c.dir, Data: c.data, Addr: c.addr, Public: &url.URL{Scheme: "https", Host: "h"},
		}}
		if got := s.start("/home/me/compat.env"); string(got.Command) != c.want {
			t.Errorf("%+v: %s", c, got.Command)
		}
	}
}
