package machoobj

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Edit is a change of the load commands of a Mach-O file. The zero value changes nothing.
type Edit struct {
	Change   map[string]string // paths of needed libraries
	RunPaths []string          // LC_RPATH that are added after the others
	MinOS    Version           // the oldest macOS; 0 = unchanged
	// Sign signs the file again even if nothing else changes, and slices for arm64 that have no
	// signature.
	Sign bool
}

// ErrEdit is the reason why a file cannot be edited.
var ErrEdit = errors.New("the file cannot be edited")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrEdit, fmt.Sprintf(format, args...))
}

// Apply returns the edited file, with the edit in each slice. data is not changed. Slices that were
// signed, and those for arm64, get a new ad hoc signature with the identifier of the old one.
//
// The load commands have to fit before the first section, as with install_name_tool: linkers leave
// some room there. The function returns ErrEdit if they do not, and for damaged files.
func (e Edit) Apply(data []byte) ([]byte, error) {
	if !Is(data) {
		return nil, refuse("it is not a Mach-O file")
	}
	magic := binary.BigEndian.Uint32(data)
	if magic != magicFat && magic != magicFat64 {
		return e.slice(data)
	}
	wide, n := magic == magicFat64, int(binary.BigEndian.Uint32(data[4:]))
	length := 20
	if wide {
		length = 32
	}
	if len(data) < 8+n*length {
		return nil, refuse("its fat header is cut off")
	}
	be := binary.BigEndian
	out := slices.Clone(data[:8+n*length])
	end := uint64(0) // of the slices in data so far
	for k := range n {
		arch := out[8+k*length : 8+(k+1)*length]
		from, count := uint64(be.Uint32(arch[8:])), uint64(be.Uint32(arch[12:]))
		align := be.Uint32(arch[16:])
		if wide {
			from, count, align = be.Uint64(arch[8:]), be.Uint64(arch[16:]), be.Uint32(arch[24:])
		}
		if from < end || from > uint64(len(data)) || count > uint64(len(data))-from || align > 24 {
			return nil, refuse("its fat header is damaged")
		}
		end = from + count
		edited, err := e.slice(data[from : from+count])
		if err != nil {
			return nil, err
		}
		out = pad(out, 1<<align)
		arch = out[8+k*length : 8+(k+1)*length] // pad may have copied it
		if wide {
			be.PutUint64(arch[8:], uint64(len(out)))
			be.PutUint64(arch[16:], uint64(len(edited)))
		} else {
			be.PutUint32(arch[8:], uint32(len(out)))
			be.PutUint32(arch[12:], uint32(len(edited)))
		}
		out = append(out, edited...)
	}
	if !wide && uint64(len(out)) > 1<<32-1 {
		return nil, refuse("it is larger than 4 GiB")
	}
	return out, nil
}

// slicing is a slice that is edited.
type slicing struct {
	head     []byte // the Mach-O header
	commands [][]byte
	code     uint64 // offset of the first section
	wide     bool

	text     [2]uint64 // offset and size of __TEXT
	linkedit []byte    // the command of __LINKEDIT
	signed   []byte    // the command of the signature; nil without one
}

func (e Edit) slice(data []byte) ([]byte, error) {
	s, err := newSlicing(data)
	if err != nil {
		return nil, err
	}
	before := bytes.Join(s.commands, nil)
	s.edit(e)
	arm := binary.LittleEndian.Uint32(s.head[4:])&^cpu64 == cpuARM
	changed := !bytes.Equal(before, bytes.Join(s.commands, nil))
	if !changed && !(e.Sign && (arm || s.signed != nil)) {
		return data, nil
	}
	if s.signed == nil && arm {
		s.addSignature(data)
	}
	commands := bytes.Join(s.commands, nil)
	if uint64(len(s.head)+len(commands)) > s.code {
		return nil, refuse("its load commands have no room for the change; link it with " +
			"-headerpad_max_install_names")
	}
	out := slices.Clone(data)
	clear(out[len(s.head):max(len(s.head)+len(before), len(s.head)+len(commands))])
	binary.LittleEndian.PutUint32(s.head[16:], uint32(len(s.commands)))
	binary.LittleEndian.PutUint32(s.head[20:], uint32(len(commands)))
	copy(out, s.head)
	copy(out[len(s.head):], commands)
	if s.signed == nil {
		return out, nil
	}
	return s.sign(out)
}

func newSlicing(data []byte) (*slicing, error) {
	i := &image{r: io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))),
		size: uint64(len(data))}
	start, n, length, err := i.header()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	if start+length > uint64(len(data)) {
		return nil, refuse("its load commands are cut off")
	}
	le := binary.LittleEndian
	s := &slicing{head: slices.Clone(data[:start]), code: uint64(len(data)), wide: i.wide}
	b := data[start : start+length]
	for range n {
		if len(b) < 8 || le.Uint32(b[4:]) < 8 || uint64(le.Uint32(b[4:])) > uint64(len(b)) {
			return nil, refuse("its load commands are damaged")
		}
		command := slices.Clone(b[:le.Uint32(b[4:])])
		b = b[len(command):]
		number := le.Uint32(command) &^ requiredByDyld
		if len(command) < leastCommand(number) {
			return nil, refuse("a load command is cut off")
		}
		if number == cmdSegment64 || number == cmdSegment {
			if err := s.segment(command, number == cmdSegment64); err != nil {
				return nil, err
			}
		}
		if number == cmdSignature {
			s.signed = command
		}
		s.commands = append(s.commands, command)
	}
	if len(b) > 0 {
		return nil, refuse("its load commands are longer than their number")
	}
	return s, nil
}

// cmdSegment is LC_SEGMENT, a segment of a 32-bit file.
const cmdSegment = 0x1

// segment notes where the sections of a segment are in the file.
func (s *slicing) segment(command []byte, wide bool) error {
	le := binary.LittleEndian
	fixedPart, sectionSize, offsetAt := 56, 68, 40
	if wide {
		fixedPart, sectionSize, offsetAt = 72, 80, 48
	}
	if len(command) < fixedPart {
		return refuse("a segment is cut off")
	}
	count := uint64(le.Uint32(command[fixedPart-8:]))
	if count > uint64(len(command)-fixedPart)/uint64(sectionSize) {
		return refuse("a segment is damaged")
	}
	for k := range int(count) {
		b := command[fixedPart+k*sectionSize:]
		const zeroFill = 1
		at := uint64(le.Uint32(b[offsetAt:]))
		if kind := le.Uint32(b[offsetAt+16:]) & 0xff; at > 0 && kind != zeroFill {
			s.code = min(s.code, at)
		}
	}
	offset, size := s.place(command)
	switch fixed(command[8:24]) {
	case "__TEXT":
		s.text = [2]uint64{offset, size}
	case "__LINKEDIT":
		s.linkedit = command
	}
	if offset > 0 {
		s.code = min(s.code, offset)
	}
	return nil
}

// place returns the offset and the size of a segment in the file.
func (s *slicing) place(command []byte) (offset, size uint64) {
	le := binary.LittleEndian
	if s.wide {
		return le.Uint64(command[40:]), le.Uint64(command[48:])
	}
	return uint64(le.Uint32(command[32:])), uint64(le.Uint32(command[36:]))
}

// edit changes the load commands.
func (s *slicing) edit(e Edit) {
	le := binary.LittleEndian
	last := -1 // the last LC_RPATH, or the last library
	for i, c := range s.commands {
		switch number := le.Uint32(c) &^ requiredByDyld; number {
		case cmdLoad, cmdLoadWeak, cmdReexport, cmdLoadLazy, cmdLoadUpward:
			if to, ok := e.Change[s.path(c)]; ok {
				s.commands[i] = s.withPath(c, to)
			}
			last = i
		case cmdID, cmdRunPath:
			last = i
		case cmdMinMacOS:
			if e.MinOS != 0 {
				le.PutUint32(c[8:], uint32(e.MinOS))
			}
		case cmdBuildVersion:
			if e.MinOS != 0 {
				le.PutUint32(c[12:], uint32(e.MinOS))
			}
		}
	}
	for _, to := range e.RunPaths {
		if slices.ContainsFunc(s.commands, func(c []byte) bool {
			return le.Uint32(c)&^requiredByDyld == cmdRunPath && s.path(c) == to
		}) {
			continue
		}
		c := words(cmdRunPath|requiredByDyld, 0, sizeRunPath)
		last++
		s.commands = slices.Insert(s.commands, last, s.withPath(c, to))
	}
}

// path returns the path in a load command.
func (s *slicing) path(c []byte) string {
	at := binary.LittleEndian.Uint32(c[8:])
	if uint64(at) >= uint64(len(c)) {
		return ""
	}
	return fixed(c[at:])
}

// withPath returns a load command with another path.
func (s *slicing) withPath(c []byte, to string) []byte {
	at := binary.LittleEndian.Uint32(c[8:])
	out := pad(slices.Concat(c[:min(int(at), len(c))], []byte(to), []byte{0}), s.alignment())
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)))
	return out
}

// alignment is that of the size of load commands.
func (s *slicing) alignment() int {
	if s.wide {
		return 8
	}
	return 4
}

// addSignature adds the load command for a signature at the end of the file.
func (s *slicing) addSignature(data []byte) {
	const align = 16
	end := uint32(len(pad(data[:len(data):len(data)], align)))
	s.signed = words(cmdSignature, 16, end, 0)
	s.commands = append(s.commands, s.signed)
}

// sign returns a slice with a new signature, which is the last part of __LINKEDIT.
func (s *slicing) sign(out []byte) ([]byte, error) {
	le := binary.LittleEndian
	end, old := uint64(le.Uint32(s.signed[8:])), uint64(le.Uint32(s.signed[12:]))
	if s.linkedit == nil || end > uint64(len(out))+16 || old > 0 && end+old > uint64(len(out)) {
		return nil, refuse("its signature is not at the end of __LINKEDIT")
	}
	start, size := s.place(s.linkedit)
	if end < start || old > 0 && start+size > roundTo(end+old, 16) {
		return nil, refuse("its signature is not at the end of __LINKEDIT")
	}
	const program = 2 // MH_EXECUTE
	d := signing{
		identifier: identifier(out, end, old), kind: hashSHA256, text: s.text,
		program: le.Uint32(s.head[12:]) == program,
	}
	out = append(out[:min(end, uint64(len(out)))], make([]byte, end-min(end, uint64(len(out))))...)
	length := uint64(len(pad(d.sign(out), 16)))
	// The commands are part of what is signed, so they are written first.
	le.PutUint32(s.signed[12:], uint32(length))
	s.setSize(end + length - start)
	copy(out[len(s.head):], bytes.Join(s.commands, nil))
	return append(out, pad(d.sign(out), 16)...), nil
}

func roundTo(n, to uint64) uint64 { return (n + to - 1) / to * to }

// setSize changes the size of __LINKEDIT.
func (s *slicing) setSize(size uint64) {
	const page = 1 << 14 // the pages of arm64
	le, memory := binary.LittleEndian, roundTo(size, page)
	if s.wide {
		le.PutUint64(s.linkedit[32:], max(memory, le.Uint64(s.linkedit[32:])))
		le.PutUint64(s.linkedit[48:], size)
		return
	}
	le.PutUint32(s.linkedit[28:], max(uint32(memory), le.Uint32(s.linkedit[28:])))
	le.PutUint32(s.linkedit[36:], uint32(size))
}

// identifier returns that of the signature of a file, or a usual one.
func identifier(data []byte, at, size uint64) string {
	const usual = "a.out"
	be := binary.BigEndian
	if at+size > uint64(len(data)) || size < 12 {
		return usual
	}
	b := data[at : at+size]
	for k := range uint64(min(be.Uint32(b[8:]), maxBlobs)) {
		if 12+8*(k+1) > size {
			break
		}
		from := uint64(be.Uint32(b[12+8*k+4:]))
		if from+headerCodeDirectory > size || be.Uint32(b[from:]) != magicCodeDirectory {
			continue
		}
		if text := from + uint64(be.Uint32(b[from+20:])); text < size {
			if name := fixed(b[text:]); name != "" && len(name) < maxPath &&
				strings.ToValidUTF8(name, "") == name {
				return name
			}
		}
	}
	return usual
}
