// Package needs ends tests that lack something on this machine: they are skipped with the reason,
// or fail if CI=true. Only tests import it.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Program returns the path of a program. If it is not installed the test ends: install is the
// package that contains it, and why is what is not tested.
func Program(t testing.TB, name, install, why string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed; "+why+": install the package "+install)
	}
	return path
}

// Missing ends a test for the given reason.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason + " (CI=true: this may not be skipped)")
	}
	t.Skip(reason)
}
