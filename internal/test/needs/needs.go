// Package needs says what becomes of a test that lacks something of the machine: it is skipped with
// the reason, and fails where CI=true says that nothing may be skipped. Only tests import it.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Program finds a program on PATH. Where it is missing the test ends: install is the package that
// brings it, and what why says is not tested.
func Program(t testing.TB, name, install, why string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed; "+why+": install the package "+install)
	}
	return path
}

// Missing ends a test for the reason given.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason + " (CI=true: this may not be skipped)")
	}
	t.Skip(reason)
}
