// Package formattest checks reports against the formats that other programs read: SARIF 2.1.0 with
// what GitHub's code scanning requires beyond it, the code quality report of GitLab, and JUnit XML
// as Jenkins and GitLab read it.
//
// The schemas are strict: they contain only the members that compat writes, so a member that is
// new or misspelled fails until it was compared with the specification. If COMPAT_SCHEMAS names the
// folder that "make schemas" wrote, SARIF and JUnit are also validated with the schemas that OASIS
// and Jenkins publish; with CI=true they have to be. No package registry has the schema of GitLab
// (app/validators/json_schemas/codeclimate.json in its repository), which requires less than ours.
package formattest

import (
	"bytes"
	"embed"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed *.schema.json
var schemas embed.FS

// SARIF returns an error if a document is not a SARIF log that code scanning accepts (OASIS SARIF
// 2.1.0; docs.github.com, "SARIF support for code scanning").
func SARIF(document []byte) error {
	if err := validate("sarif", document); err != nil {
		return err
	}
	if err := publishedSARIF(document); err != nil {
		return err
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
			}
		}
	}
	if err := json.Unmarshal(document, &log); err != nil {
		return err
	}
	for _, run := range log.Runs {
		for i, r := range run.Results {
			if r.RuleIndex >= len(run.Tool.Driver.Rules) ||
				run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
				return fmt.Errorf("result %d of the rule %s refers to rule %d", i, r.RuleID, r.RuleIndex)
			}
		}
	}
	return nil
}

// GitLab returns an error if a document is not a code quality report (docs.gitlab.com, "Code
// Quality", section "Code Quality report format").
func GitLab(document []byte) error { return validate("gitlab", document) }

func validate(name string, document []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return err
	}
	s, err := compile(name)
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func compile(name string) (*jsonschema.Schema, error) {
	file := name + ".schema.json"
	text, err := schemas.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(file, s); err != nil {
		return nil, err
	}
	return c.Compile(file)
}

// JUnit returns an error if a document is not JUnit XML (the schema junit-10.xsd of Jenkins' xUnit
// plugin; docs.gitlab.com, "Unit test reports"), or if its counts are wrong.
func JUnit(document []byte) error {
	root, err := parse(document)
	if err != nil {
		return err
	}
	s, err := compile("junit")
	if err != nil {
		return err
	}
	if err := s.Validate(map[string]any{root.XMLName.Local: root.value()}); err != nil {
		return err
	}
	if err := publishedJUnit(document); err != nil {
		return err
	}
	return root.count(root.cases())
}

// element is an XML element. JUnit XML has no namespaces.
type element struct {
	XMLName    xml.Name
	Attributes []xml.Attr `xml:",any,attr"`
	Children   []element  `xml:",any"`
	Text       string     `xml:",chardata"`
}

func parse(document []byte) (root element, err error) {
	d := xml.NewDecoder(bytes.NewReader(document))
	if err := d.Decode(&root); err != nil {
		return root, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		// The line feed at the end is a token too.
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return root, errors.New("there is more than one element")
		}
	}
	return root, nil
}

// value returns the element as the schema describes it: its attributes, its children in order, each
// under its name, and its text if it has no children.
func (e element) value() any {
	attributes, children := map[string]any{}, []any{}
	for _, a := range e.Attributes {
		attributes[a.Name.Local] = a.Value
	}
	for _, c := range e.Children {
		children = append(children, map[string]any{c.XMLName.Local: c.value()})
	}
	v := map[string]any{"attributes": attributes}
	if len(children) > 0 {
		v["children"] = children
	}
	if text := strings.TrimSpace(e.Text); text != "" {
		v["text"] = text
	}
	return v
}

// cases returns how many test cases the element contains, and how many have each result.
func (e element) cases() map[string]int {
	n := map[string]int{}
	for _, c := range e.Children {
		switch name := c.XMLName.Local; name {
		case "testcase":
			n["tests"]++
		case "failure":
			n["failures"]++
		case "error":
			n["errors"]++
		case "skipped":
			n["skipped"]++
		}
		for k, m := range c.cases() {
			n[k] += m
		}
	}
	return n
}

// count compares the counts in the attributes of the element, and of the suites in it, with the
// test cases.
func (e element) count(have map[string]int) error {
	for _, a := range e.Attributes {
		switch a.Name.Local {
		case "tests", "failures", "errors", "skipped":
			if a.Value != strconv.Itoa(have[a.Name.Local]) {
				return fmt.Errorf("%s has %s=%q, but contains %d", e.XMLName.Local, a.Name.Local,
					a.Value, have[a.Name.Local])
			}
		}
	}
	for _, c := range e.Children {
		if c.XMLName.Local == "testsuite" {
			if err := c.count(c.cases()); err != nil {
				return err
			}
		}
	}
	return nil
}
