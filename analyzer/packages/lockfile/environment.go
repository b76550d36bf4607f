package lockfile

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readEnvironment reads the pip requirements of a conda environment file. Each item of the list is
// a line of a requirements file. Notes list the conda packages.
func readEnvironment(data []byte) (*Lock, error) {
	file, err := document(data)
	if err != nil {
		return nil, err
	}
	var conda []string
	var lines []*requirementsLine
	found := false
	for _, d := range items(member(file, "dependencies")) {
		if d.Kind == yaml.ScalarNode {
			name := d.Value[strings.LastIndex(d.Value, ":")+1:]
			if i := strings.IndexAny(name, " =<>!~["); i >= 0 {
				name = name[:i]
			}
			if name != "python" && name != "pip" {
				conda = append(conda, name)
			}
		}
		for _, item := range items(member(d, "pip")) {
			if item.Kind != yaml.ScalarNode {
				continue
			}
			found = true
			one, err := requirementsLines(item.Value)
			var at *LineError
			if errors.As(err, &at) {
				return nil, inLine(item.Line, at.Err)
			}
			for _, l := range one {
				l.line, l.hashLine = item.Line, 0
			}
			lines = append(lines, one...)
		}
	}
	if !found {
		return nil, errConda
	}
	l := &Lock{Names: requirementsNames(lines)}
	l.choose = func(c *chooser) error {
		if err := c.requirements(lines); err != nil {
			return err
		}
		c.note(conda, notConda)
		return nil
	}
	return l, nil
}
