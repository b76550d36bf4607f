package loopback

import (
	"net"
	"strconv"
	"testing"
)

func TestOutside(t *testing.T) {
	for _, c := range []struct{ first, last, want, lowest, highest int }{
		{32768, 60999, 22768 + 4536, 10000, 65535},
		{16000, 65535, 6000, 10000, 15999},
		{1024, 60999, 4536, 61000, 65535},
		{1024, 65535, 55536, 10000, 65535}, // none are left, so any free port
	} {
		ports := outside(c.first, c.last)
		if len(ports) != c.want || ports[0] != c.lowest || ports[len(ports)-1] != c.highest {
			t.Errorf(
				"outside of %d to %d are %d ports, %d to %d; want %d, %d to %d",
				c.first,
				c.last,
				len(ports),
				ports[0],
				ports[len(ports)-1],
				c.want,
				c.lowest,
				c.highest,
			)
		}
	}
}

// A port is reserved while the test runs, and a server can listen on it more than once.
func TestPortIsKept(t *testing.T) {
	port := Port(t)
	if release, err := claim(port); err == nil {
		release()
		t.Errorf("port %d is given twice", port)
	}
	for range 2 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		if free(port) {
			t.Errorf("port %d counts as free while somebody listens", port)
		}
		l.Close()
	}
	var ended int
	t.Run("ends", func(t *testing.T) { ended = Port(t) })
	release, err := claim(ended)
	if err != nil {
		t.Fatalf("the port of a test that ended is kept: %v", err)
	}
	release()
}
