// Package loopback reserves addresses on this machine for tests that need an address where a
// server will listen later, or again after it was killed, or never. A port chosen by the kernel
// (127.0.0.1:0) can be given to any process after it was closed. Ports of this package are
// outside the kernel's range, and no two tests have the same one at a time, in any process.
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

// lowest is the lowest reserved port; those below belong to well-known services.
const lowest = 10000

// Addr returns an address "127.0.0.1:PORT" where nothing listens. It is reserved until the test
// ends.
func Addr(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(t)))
}

// Server starts a server at an Addr, which is closed at the end of the test. After that,
// connections are refused.
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

// Port returns the port of an Addr.
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

// kernels returns the first and last port that the kernel assigns by itself.
func kernels() (first, last int) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if n, _ := fmt.Sscan(string(text), &first, &last); err != nil || n != 2 {
		return 32768, 60999 // the default of Linux
	}
	return first, last
}

// outside returns the ports from lowest on that the kernel does not assign; all of them if it may
// assign any.
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

// claim reserves a port for this process by a name in the abstract namespace of Unix sockets,
// which disappears with the process and has the same scope as ports.
func claim(port int) (release func(), err error) {
	l, err := net.Listen("unix", fmt.Sprintf("@compat-loopback-%d", port))
	if err != nil {
		return nil, err
	}
	return func() { l.Close() }, nil
}

// free reports whether a server can listen on the port.
func free(port int) bool {
	l, err := net.Listen("tcp4", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
