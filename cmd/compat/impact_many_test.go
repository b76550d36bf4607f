package main

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// A dependent costs the same few requests however many there are, and at most three to check it
// again.
// COMPAT_DEPENDENTS and COMPAT_MEGABYTES measure more and larger ones.
func TestImpactOfManyDependents(t *testing.T) {
	count, megabytes := 20, 0
	if n, err := strconv.Atoi(os.Getenv("COMPAT_DEPENDENTS")); err == nil {
		count = n
	}
	if n, err := strconv.Atoi(os.Getenv("COMPAT_MEGABYTES")); err == nil {
		megabytes = n
	}
	padding := make([]byte, megabytes<<20) // that cannot be compressed
	for i := range padding {
		padding[i] = byte(rand.Uint32()) //nolint:gosec // no secret
	}
	object := func(function string) string { // it has padding after its sections
		data := elftest.File(t, "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\n"+
			"runpath $ORIGIN/../gear\nimport "+function+"\n")
		return string(data) + string(padding)
	}
	works, breaks := object("stop"), object("spin")
	index := gears(t)
	const linux = "-1.0-py3-none-manylinux_2_28_x86_64.whl"
	for i := range count {
		name := fmt.Sprintf("user%d", i)
		library := works
		if i%10 == 0 {
			library = breaks
		}
		index.files[name] = map[string][]byte{name + linux: madeWheel(t, name, "1.0", []string{"gear"},
			name+"/_u.so", library)}
	}
	server := httptest.NewServer(index)
	defer server.Close()
	vars := map[string]string{
		"PIP_INDEX_URL": server.URL + "/simple/", "COMPAT_DATA": t.TempDir(),
	}
	run := func(n int) (requests int, took time.Duration) {
		t.Helper()
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("pypi:user%d==1.0", i))
		}
		before, start := index.requests.Load(), time.Now()
		code, out, errs := runWith(t, vars, "impact", "pypi:gear==2.0", "--dependents",
			strings.Join(names, ","))
		want := fmt.Sprintf("%d of %d dependents break", (n+9)/10, n)
		if code != exitIncompatible || !strings.Contains(out, want) {
			t.Fatalf("exit code %d, no %q in\n%.2000s%s", code, want, out, errs)
		}
		return int(index.requests.Load() - before), time.Since(start)
	}
	half, _ := run(count / 2)
	all, cold := run(count) // half of them are known
	warm, again := run(count)
	t.Logf("%d dependents of %d MB: %d and %d requests, the second half in %v; again: %d requests, %v",
		count, megabytes, half, all, cold, warm, again)
	if all > 2*half {
		t.Errorf("%d requests for %d dependents, and %d for as many more", half, count/2, all)
	}
	if warm > 3*count || warm > 0 && megabytes == 0 { // parts of large wheels are read again
		t.Errorf("%d requests for what is known", warm)
	}
}
