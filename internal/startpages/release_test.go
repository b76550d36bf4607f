//go:build linux && (amd64 || arm64)

package startpages

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Fewer pages of files are resident afterwards, and the program still runs.
func TestRelease(t *testing.T) {
	before := resident(t)
	Release()
	after := resident(t)
	if after >= before {
		t.Errorf("%d KiB of files are resident, before %d", after, before)
	}
	if got := fmt.Sprintf("%x", "after the release"); got != "6166746572207468652072656c65617365" {
		t.Errorf("the program computes %q", got)
	}
}

var rssFile = regexp.MustCompile(`(?m)^RssFile:\s+(\d+) kB$`)

// resident returns the KiB of mapped files that are resident; see proc_pid_status(5).
func resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := rssFile.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no RssFile in %s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
