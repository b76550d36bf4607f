//go:build s3

package bucket

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRealS3 uses the bucket at the address COMPAT_S3, which the server stores below the folder
// COMPAT_S3_DATA. make s3 starts a server and sets both. The server has no lifecycle rules, so the
// test removes an object as such a rule does.
func TestRealS3(t *testing.T) {
	b, err := Open(os.Getenv("COMPAT_S3"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	check(t, b)
	if err := os.Remove(filepath.Join(os.Getenv("COMPAT_S3_DATA"), "31d", "name")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), "31d/name"); got != nil || err != nil {
		t.Errorf("an object that has expired: %d bytes, %v", len(got), err)
	}
}
