// Package loopback gives tests addresses on this machine that stay theirs: where a server is to
// listen later, again after it was killed, or never. A port that the kernel chose (127.0.0.1:0) and
// that was closed again is anybody's: the kernel gives it to the next listener or outgoing
// connection of any process. Ports of this package are outside the range that the kernel chooses
// from, and no two tests have the same one, whatever process they are in.
//
//	addr := loopback.Addr(t)
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"
)

// lowest port given: below it are those of well-known services.
const lowest = 10000

// Addr is an address where nobody listens, "127.0.0.1:PORT". It is the test's until the test ends.
func Addr(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(t)))
}

// Server is a server at an Addr, which ends with the test at the latest. Who calls it after it was
// closed reaches nobody.
func Server(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", Addr(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{
		Listener: l,
		Config:   &http.Server{Handler: h, ReadHeaderTimeout: time.Minute},
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Port is the port of an Addr.
func Port(t testing.TB) int {
	t.Helper()
	ports := outside(kernels())
	for _, i := range rand.Perm(len(ports)) {
		release, err := claim(ports[i])
		if err != nil {
			continue
		}
		if !free(ports[i]) {
			release()
			continue
		}
		t.Cleanup(release)
		return ports[i]
	}
	t.Fatalf("none of the %d ports that the kernel gives to nobody is free", len(ports))
	return 0
}

// kernels are the first and last port that the kernel chooses from for whoever does not name one.
func kernels() (first, last int) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if n, _ := fmt.Sscan(string(text), &first, &last); err != nil || n != 2 {
		return 32768, 60999 // Linux's own choice
	}
	return first, last
}

// outside are the ports from lowest on that the kernel does not choose; all of them where it may
// choose any.
func outside(first, last int) []int {
	var out, all []int
	for port := lowest; port <= 65535; port++ {
		all = append(all, port)
		if port < first || port > last {
			out = append(out, port)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// claim keeps a port from the tests of all processes by a name in the abstract namespace of unix
// sockets, which goes with the process and is as wide as that of the ports.
func claim(port int) (release func(), err error) {
	l, err := net.Listen("unix", fmt.Sprintf("@compat-loopback-%d", port))
	if err != nil {
		return nil, err
	}
	return func() { l.Close() }, nil
}

// free says whether a server can listen there, on this address or on all.
func free(port int) bool {
	l, err := net.Listen("tcp4", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
