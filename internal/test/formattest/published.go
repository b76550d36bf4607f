package formattest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// published returns the path of a file that "make schemas" wrote, or "" if COMPAT_SCHEMAS is not
// set, which is an error with CI=true.
func published(name string) (string, error) {
	dir := os.Getenv("COMPAT_SCHEMAS")
	if dir != "" {
		return filepath.Join(dir, name), nil
	}
	if os.Getenv("CI") == "true" {
		return "", errors.New("CI=true: run make schemas, and set COMPAT_SCHEMAS to build/schemas")
	}
	return "", nil
}

// sarifSchema returns the schema that OASIS publishes, or nil without COMPAT_SCHEMAS.
var sarifSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	file, err := published("sarif-schema-2.1.0.json")
	if file == "" {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c.Compile(file)
})

func publishedSARIF(document []byte) error {
	s, err := sarifSchema()
	if s == nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func publishedJUnit(document []byte) error {
	file, err := published("junit-10.xsd")
	if file == "" {
		return err
	}
	c := exec.Command("xmllint", "--noout", "--nonet", "--schema", file, "-")
	c.Stdin = bytes.NewReader(document)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("xmllint: %w: %s", err, text)
	}
	return nil
}
