//go:build s3

package bucket

import (
	"os"
	"testing"
)

// TestRealS3 uses the bucket at the address COMPAT_S3. make s3 starts a server and sets it.
func TestRealS3(t *testing.T) {
	b, err := Open(os.Getenv("COMPAT_S3"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	check(t, b)
}
