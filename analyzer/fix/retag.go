package fix

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// Retagging gives a wheel other tags.
type Retagging struct {
	Wheel *Wheel
	To    pkgmeta.Tag // fields that are "" are kept
}

// Wheel is what the commands that change the tags or the members of a wheel depend on.
type Wheel struct {
	Path  string        // of the artifact; "" = File
	File  string        // base name
	Tags  []pkgmeta.Tag // of the file name
	Build string        // build number of the file name, or ""
	// The command that extracts it, the folder, and the extracted WHEEL file. To change tags they are
	// only set for a wheel that "wheel tags" rejects, because its WHEEL file has other tags than its
	// file name or several in one line, or its name has a label; otherwise "".
	Extract, Folder, Meta shellword.Line
}

// PackWheel is the beginning of each command that packs an extracted wheel.
const PackWheel shellword.Line = "python -m wheel pack "

// pack returns the command that packs the extracted wheel and writes its RECORD. "wheel pack" takes
// the build number from WHEEL, which often does not have it.
func (w *Wheel) pack() shellword.Line {
	command := PackWheel
	if w.Build != "" {
		command += "--build-number " + shellword.Quote(w.Build) + " "
	}
	return command + w.Folder
}

// Move begins the step of Repack that gives the packed wheel its old name.
const Move shellword.Line = "mv "

// Repack returns the commands that pack the extracted wheel, which replaces the file, and remove
// the folder. "wheel pack" sorts the tags in the file name; other tools keep another order.
func (w *Wheel) Repack() shellword.Line {
	command := w.pack()
	if packed := (Retagging{Wheel: w}).packed(); packed != w.File {
		command += " && " + Move + shellword.Quote(shellword.File(packed)) + " " +
			shellword.Quote(shellword.File(w.File))
	}
	return command + " && rm -r " + w.Folder
}

// RetagCommand returns the command that changes the tags of some wheels. "wheel tags" is used for
// those that it accepts; the others are extracted, WHEEL is edited, and they are packed again. For
// wheels in several folders, each line enters its folder.
func RetagCommand(all []Retagging) shellword.Line {
	var folders []string
	byFolder := map[string][]Retagging{}
	for _, r := range all {
		dir := path.Dir(r.Wheel.Path)
		if byFolder[dir] == nil {
			folders = append(folders, dir)
		}
		byFolder[dir] = append(byFolder[dir], r)
	}
	var lines []shellword.Line
	for _, dir := range folders {
		enter, _ := Place(byFolder[dir][0].Wheel.Path)
		for _, line := range retagLines(byFolder[dir]) {
			if len(folders) > 1 {
				line = Enter(enter, line)
			}
			lines = append(lines, line)
		}
	}
	return shellword.Join(lines, "\n")
}

// retagLines returns the commands of RetagCommand for wheels in one folder.
func retagLines(all []Retagging) []shellword.Line {
	var lines []shellword.Line
	byOptions := map[shellword.Line]int{} // index of the line
	for _, r := range all {
		file := shellword.Quote(shellword.File(r.Wheel.File))
		if r.Wheel.Extract == "" {
			options := r.Options()
			i, ok := byOptions[options]
			if !ok {
				i = len(lines)
				byOptions[options] = i
				lines = append(lines, options)
			}
			lines[i] += " " + file
			continue
		}
		line := r.Wheel.Extract + " && " + r.Edit() + " && " + r.Wheel.pack()
		if packed := r.packed(); packed != r.File() {
			line += " && " + Move + shellword.Quote(shellword.File(packed)) + " " +
				shellword.Quote(shellword.File(r.File()))
		}
		line += " && rm -r " + r.Wheel.Folder
		if r.File() != r.Wheel.File {
			line += " " + file
		}
		lines = append(lines, line)
	}
	return lines
}

// retagTool is the command for wheels that "wheel tags" accepts.
const retagTool shellword.Line = "wheel tags --remove"

// Retags reports whether a command replaces wheels by others with other tags, for a fix that was
// read from JSON.
func Retags(command shellword.Line) bool {
	return strings.Contains(string(command), string(retagTool)+" ")
}

// Options returns the "wheel tags" command without the wheel.
func (r Retagging) Options() shellword.Line {
	command := retagTool
	for _, x := range []struct {
		option shellword.Line
		value  string
	}{
		{"--python-tag", r.To.Python},
		{"--abi-tag", r.To.ABI},
		{platformOption, r.To.Platform},
	} {
		if x.value != "" {
			command += " " + x.option + " " + shellword.Quote(x.value)
		}
	}
	return command
}

// Edit returns the command that writes the tags into the extracted WHEEL file, with the tools of
// any system: "sed -i" differs between them. The order of the lines of WHEEL has no meaning.
func (r Retagging) Edit() shellword.Line {
	edit := "{ printf " + writeTags
	for _, tag := range r.NewTags() {
		edit += " " + shellword.Quote(tag.String())
	}
	return edit + "; grep -v '^Tag:' " + r.Wheel.Meta + "; } >WHEEL && " + Move + "WHEEL " +
		r.Wheel.Meta
}

// NewTags returns the tags of the wheel with the change.
func (r Retagging) NewTags() []pkgmeta.Tag {
	var tags []pkgmeta.Tag
	for _, t := range r.Wheel.Tags {
		tag := pkgmeta.Tag{
			Python:   cmp.Or(r.To.Python, t.Python),
			ABI:      cmp.Or(r.To.ABI, t.ABI),
			Platform: cmp.Or(r.To.Platform, t.Platform),
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// PlatformTag returns the first platform tag that a command of RetagCommand sets, for a fix that
// was read from JSON. It is "" for other commands, and for those that set no platform tag.
func PlatformTag(command shellword.Line) string {
	words := shellword.Words(command)
	for i, w := range words[:max(len(words)-1, 0)] {
		switch next := strings.TrimSuffix(string(words[i+1]), ";"); w {
		case platformOption:
			return next
		case writeTags:
			return next[strings.LastIndexByte(next, '-')+1:]
		}
	}
	return ""
}

// Words of the commands that set tags: an option of "wheel tags", and the format of a line of
// WHEEL.
const (
	platformOption shellword.Line = "--platform-tag"
	writeTags      shellword.Line = `'Tag: %s\n'`
)

// File returns the base name of the wheel with the new tags, as "wheel tags" and "wheel pack" write
// it: each field has its values once, in alphabetical order. A variant wheel keeps its label.
func (r Retagging) File() string {
	packed := r.packed()
	if label := r.Wheel.label(); label != "" {
		return strings.TrimSuffix(packed, ".whl") + "-" + label + ".whl"
	}
	return packed
}

// label returns that of a variant wheel (PEP 825, a draft), the end of its name; "" for others.
func (w *Wheel) label() string {
	_, label, err := pkgmeta.ParseVariantName(w.File)
	if err != nil {
		return ""
	}
	return label
}

// packed returns the base name that "wheel pack" gives the wheel, which knows no labels.
func (r Retagging) packed() string {
	stem := strings.TrimSuffix(r.Wheel.File, ".whl")
	if label := r.Wheel.label(); label != "" {
		stem = strings.TrimSuffix(stem, "-"+label)
	}
	parts := strings.Split(stem, "-")
	if len(parts) < 5 {
		return r.Wheel.File
	}
	fields := parts[len(parts)-3:]
	for i, to := range []string{r.To.Python, r.To.ABI, r.To.Platform} {
		values := strings.Split(cmp.Or(to, fields[i]), ".")
		slices.Sort(values)
		fields[i] = strings.Join(slices.Compact(values), ".")
	}
	return strings.Join(parts, "-") + ".whl"
}

// Same reports whether both are one file.
func (w *Wheel) Same(other *Wheel) bool { return w.Path == other.Path && w.File == other.File }

// MergeRetags returns the changes of two fixes. ok is false if they set a field of a wheel's tags
// to different values.
func MergeRetags(a, b []Retagging) (all []Retagging, ok bool) {
	all = slices.Clone(a)
	for _, r := range b {
		i := slices.IndexFunc(all, func(x Retagging) bool { return x.Wheel.Same(r.Wheel) })
		if i < 0 {
			all = append(all, r)
			continue
		}
		for _, x := range []struct {
			mine   *string
			theirs string
		}{
			{&all[i].To.Python, r.To.Python},
			{&all[i].To.ABI, r.To.ABI},
			{&all[i].To.Platform, r.To.Platform},
		} {
			if *x.mine != "" && x.theirs != "" && *x.mine != x.theirs {
				return nil, false
			}
			*x.mine = cmp.Or(*x.mine, x.theirs)
		}
	}
	return all, true
}
