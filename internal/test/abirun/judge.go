package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
)

// kind is how an answer relates to what happened.
type kind string

// Kinds of answers.
const (
	right      kind = "right"
	toldBlind  kind = "told"        // a break that is in the blind spots
	unseen     kind = "unseen"      // a break that symbols do not show, and types were not compared
	falsePass  kind = "FALSE PASS"  // types were compared
	falseAlarm kind = "FALSE ALARM" // the program runs as before
	unnamed    kind = "UNNAMED"     // the break is not the one that is reported
	needless   kind = "NEEDLESS"    // blind spots although all was compared
	silent     kind = "SILENT"      // blind spots are missing
)

func (k kind) wrong() bool { return strings.ToUpper(string(k)) == string(k) }

// answer is one comparison.
type answer struct {
	kind  kind
	build string
	text  string
}

// run builds a pair in each way that is chosen, runs the program, and compares.
func (p *pair) run(
	ctx context.Context, compat string, chosen func(build) bool,
) ([]answer, error) {
	if err := p.write(); err != nil {
		return nil, err
	}
	var answers []answer
	program := ""
	seen := map[string][2]string{} // what the program does with both sides, by compilers
	libraries := map[string][2]string{}
	for _, b := range builds {
		if !chosen(b) ||
			p.keys["cc"] != "" && b.old != p.keys["cc"] && b.name != "stripped" ||
			b.language == "c" && p.cxx() ||
			slices.Contains(strings.Fields(p.keys["lost"]), b.name) {
			continue
		}
		if cc := p.keys["cc"]; cc != "" {
			b.old, b.new = cc, cc
		}
		two, ok := libraries[b.of]
		if !ok {
			for i, side := range sides {
				var err error
				if two[i], err = p.library(ctx, b, side); err != nil {
					return nil, err
				}
			}
		}
		libraries[b.name] = two
		if program == "" {
			var err error
			if program, err = p.program(ctx, two[0]); err != nil {
				return nil, err
			}
		}
		did, ok := seen[b.old+b.new]
		if !ok {
			for i := range sides {
				var err error
				if did[i], err = execute(ctx, program, filepath.Dir(two[i])); err != nil {
					return nil, err
				}
			}
			if !strings.HasPrefix(did[0], "printed") {
				return nil, fmt.Errorf("%s: the program does not run with its own library: %s", b.name, did[0])
			}
			seen[b.old+b.new] = did
		}
		r, err := p.diff(ctx, compat, b, two, program)
		if err != nil {
			return nil, err
		}
		answers = append(answers, p.judge(b, r, did))
	}
	return answers, nil
}

// diff runs compat diff.
func (p *pair) diff(
	ctx context.Context, compat string, b build, two [2]string, program string,
) (*abi.Result, error) {
	if b.name == "baseline" {
		out, err := exec.CommandContext(ctx, compat, "abi", two[0]).Output()
		if err != nil {
			return nil, fmt.Errorf("compat abi: %w", err)
		}
		two[0] = filepath.Join(p.dir, "old.json")
		if err := os.WriteFile(two[0], out, 0o644); err != nil {
			return nil, err
		}
	}
	if b.static {
		for i, side := range sides {
			var err error
			if two[i], err = p.archive(ctx, b, side); err != nil {
				return nil, err
			}
		}
	}
	args := []string{"diff", "--format", "json"}
	fill := strings.NewReplacer(
		"{old}", filepath.Join(p.dir, "old"), "{new}", filepath.Join(p.dir, "new"),
	)
	for _, w := range strings.Fields(p.keys["args"]) {
		args = append(args, fill.Replace(w))
	}
	if b.headers {
		args = append(args, "--old-headers", filepath.Join(p.dir, "old"),
			"--new-headers", filepath.Join(p.dir, "new"))
	}
	if b.program {
		args = append(args, "--app", program, two[1])
	} else {
		args = append(args, two[0], two[1])
	}
	cmd := exec.CommandContext(ctx, compat, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("compat diff: %w: %s", err, errs.Bytes())
	}
	r := &abi.Result{}
	return r, json.Unmarshal(out.Bytes(), r)
}

// judge compares the verdict with what the program did.
func (p *pair) judge(b build, r *abi.Result, did [2]string) answer {
	a := answer{build: b.name, kind: right, text: string(r.Verdict)}
	changed, breaking := did[0] != did[1], r.Verdict == abi.Breaking
	if changed {
		a.text = fmt.Sprintf("the program %s, and now %s", did[0], did[1])
	}
	told := strings.Join(r.Blind, " ")
	blind := (b.program || b.headers) && told != "" || p.keys["blind"] != "" &&
		slices.ContainsFunc(strings.Split(p.keys["blind"], "|"), func(n string) bool {
			return strings.Contains(told, n)
		})
	switch {
	case changed && !breaking && !r.Types():
		a.kind = unseen
		if len(r.Blind) == 0 {
			a.kind = silent
		}
	case changed && !breaking && blind:
		a.kind = toldBlind
	case changed && !breaking:
		a.kind = falsePass
		if len(r.Blind) > 0 {
			a.text += "; blind: " + told
		}
	case breaking && !changed && p.keys["breaks"] == "":
		a.kind = falseAlarm
		a.text = errorsOf(r)
	case breaking && changed && !p.named(r):
		a.kind = unnamed
		a.text = errorsOf(r)
	case r.Types() && p.keys["blind"] == "" && len(r.Blind) > 0 && !b.program && !b.headers:
		a.kind, a.text = needless, told
	}
	return a
}

// named reports whether an error names what has to be named.
func (p *pair) named(r *abi.Result) bool {
	names := strings.Split(p.keys["names"], "|")
	return p.keys["names"] == "" || slices.ContainsFunc(r.Changes, func(c abi.Change) bool {
		symbol, _, _ := strings.Cut(c.Symbol, "@")
		return c.Severity == abi.Error && slices.ContainsFunc(names, func(n string) bool {
			return n == symbol || n == c.Type || strings.Contains(abi.Readable(symbol), n) ||
				strings.HasPrefix(c.Type, n+"<") || strings.HasSuffix(c.Type, "::"+n)
		})
	})
}

func errorsOf(r *abi.Result) string {
	var out []string
	for _, c := range r.Changes {
		if c.Severity == abi.Error {
			out = append(out, c.Detail)
		}
	}
	return strings.Join(out, " ")
}

// table counts answers by build and kind.
type table map[string]map[kind]int

func (t table) add(a answer) {
	if t[a.build] == nil {
		t[a.build] = map[kind]int{}
	}
	t[a.build][a.kind]++
}

func (t table) write(out io.Writer, pairs int) {
	kinds := []kind{right, toldBlind, unseen, falsePass, falseAlarm, unnamed, needless, silent}
	fmt.Fprintf(out, "%d pairs\n%-10s", pairs, "build")
	for _, k := range kinds {
		fmt.Fprintf(out, " %11s", k)
	}
	fmt.Fprintln(out)
	for _, b := range builds {
		if t[b.name] == nil {
			continue
		}
		fmt.Fprintf(out, "%-10s", b.name)
		for _, k := range kinds {
			fmt.Fprintf(out, " %11d", t[b.name][k])
		}
		fmt.Fprintln(out)
	}
}
