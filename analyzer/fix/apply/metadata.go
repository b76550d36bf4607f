package apply

import (
	"bytes"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// lines splits a file with header fields into these lines and the rest, which begins with the empty
// line. The lines of a file may have different ends; those that are added get that of the first.
func lines(file []byte) (headers []string, end string, rest []byte) {
	end = "\n"
	if first, _, _ := bytes.Cut(file, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		end = "\r\n"
	}
	for len(file) > 0 {
		n := bytes.IndexByte(file, '\n') + 1
		if n == 0 {
			return append(headers, string(file)+end), end, nil
		}
		if len(bytes.TrimRight(file[:n], "\r\n")) == 0 { // one of blanks continues a field
			break
		}
		headers, file = append(headers, string(file[:n])), file[n:]
	}
	return headers, end, file
}

// join is the reverse of lines.
func join(headers []string, rest []byte) []byte {
	return append([]byte(strings.Join(headers, "")), rest...)
}

// field reports whether a line has a header field.
func field(line, name string) bool {
	n, _, ok := strings.Cut(line, ":")
	return ok && strings.EqualFold(n, name)
}

// writeTags returns a WHEEL file with other tags, in the place of the old ones.
func writeTags(file []byte, tags []pkgmeta.Tag) []byte {
	headers, end, rest := lines(file)
	at := slices.IndexFunc(headers, func(l string) bool { return field(l, "Tag") })
	if at < 0 {
		at = len(headers)
	}
	headers = slices.DeleteFunc(headers, func(l string) bool { return field(l, "Tag") })
	var list []string
	for _, t := range tags {
		list = append(list, "Tag: "+t.String()+end)
	}
	return join(slices.Insert(headers, min(at, len(headers)), list...), rest)
}

// require returns a METADATA file that has requirements. One for a package that it requires already
// gets the place of that, and keeps its marker and the bounds that the new one leaves open. What is
// required for an extra, or with extras of the package, stays; pip fulfills both.
func require(file []byte, requirements []string) ([]byte, error) {
	const name = "Requires-Dist"
	headers, end, rest := lines(file)
	for _, r := range requirements {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			return nil, refuse("%v", err)
		}
		spec, err := pkgmeta.ParseSpec(q.Spec)
		if err != nil {
			return nil, refuse("%v", err)
		}
		last, replaced := len(headers), false
		for i, line := range headers {
			if !field(line, name) {
				continue
			}
			last = i + 1
			_, value, _ := strings.Cut(line, ":")
			old, err := pkgmeta.ParseRequirement(strings.TrimSpace(value))
			if err != nil || old.Name != q.Name || len(old.Extras) > 0 ||
				strings.Contains(old.Marker, "extra") {
				continue
			}
			text := r
			if before, err := pkgmeta.ParseSpec(old.Spec); err == nil && q.Spec != "" {
				text = strings.Replace(r, q.Spec, spec.Keeping(before).String(), 1)
			}
			if old.Marker != "" && q.Marker == "" {
				text += "; " + old.Marker
			}
			headers[i], replaced = name+": "+text+end, true
		}
		if !replaced {
			headers = slices.Insert(headers, last, name+": "+r+end)
		}
	}
	return join(headers, rest), nil
}
