package report

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Graph shows which files of a report need which libraries. Files and libraries are folded into
// groups until the drawing is readable.
type Graph struct {
	Nodes []GraphNode `json:"nodes"` // by column, then from top to bottom
	Edges []GraphEdge `json:"edges"`
	Rows  []GraphRow  `json:"rows"` // the same facts as a table
	More  int         `json:"more"` // rows that are left out
}

// GraphNode is a group of files, or of libraries that are in no artifact.
type GraphNode struct {
	Label    string            `json:"label"`
	Names    []string          `json:"names"` // the first of the group
	Outside  bool              `json:"outside,omitempty"`
	Severity analyzer.Severity `json:"severity,omitempty"` // of the worst finding; "" = none
	Column   int               `json:"column"`
	Row      int               `json:"row"`
}

// GraphEdge is a group that needs another; both are indexes of Nodes.
type GraphEdge struct {
	From     int               `json:"from"`
	To       int               `json:"to"`
	Severity analyzer.Severity `json:"severity,omitempty"` // of the worst finding; "" = none
}

// GraphRow is a file with the libraries that it needs.
type GraphRow struct {
	File     string            `json:"file"`
	Inside   []string          `json:"inside,omitempty"`  // files of the artifacts
	Outside  []string          `json:"outside,omitempty"` // other libraries
	Findings int               `json:"findings,omitempty"`
	Severity analyzer.Severity `json:"severity,omitempty"` // of the worst finding; "" = none
}

const (
	maxGraphNodes = 30 // of a drawing
	maxGraphEdges = 50
	maxGraphNames = 20 // of a group
	maxGraphRows  = 100
	maxColumn     = 4 // of files
)

// vertex is a file or a library before folding.
type vertex struct {
	artifact, name string // artifact is "" for a library outside
	severity       analyzer.Severity
	findings       int
	needs          map[int]analyzer.Severity // vertex -> severity of the worst finding
}

// graphOf returns the graph of a report. It is empty if no file needs a library.
func graphOf(r *analyzer.Report) (out Graph) {
	all := vertices(r)
	edges := 0
	for i := range all {
		edges += len(all[i].needs)
	}
	if edges == 0 {
		return out
	}
	for i := range all {
		v := &all[i]
		if v.artifact == "" {
			continue
		}
		if len(out.Rows) == maxGraphRows {
			out.More++
			continue
		}
		row := GraphRow{File: v.name, Findings: v.findings, Severity: v.severity}
		for _, n := range sortedKeys(v.needs) {
			if to := &all[n]; to.artifact == "" {
				row.Outside = append(row.Outside, to.name)
			} else {
				row.Inside = append(row.Inside, to.name)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for level := 0; ; level++ {
		group, n := fold(all, level)
		if n > maxGraphNodes && level < foldAll {
			continue
		}
		out.Nodes, out.Edges = draw(all, group, n)
		if len(out.Edges) <= maxGraphEdges || level == foldAll {
			return out
		}
	}
}

// vertices returns the files of a report and the libraries that they need.
func vertices(r *analyzer.Report) (all []vertex) {
	files, byName, outside := map[[2]string]int{}, map[string]int{}, map[string]int{}
	name := func(s string, i int) {
		if _, ok := byName[s]; !ok && s != "" {
			byName[s] = i
		}
	}
	for i := range r.Artifacts {
		for _, n := range r.Artifacts[i].Needs {
			files[[2]string{r.Artifacts[i].Path, n.Object}] = len(all)
			name(n.Name, len(all))
			name(path.Base(n.Object), len(all))
			all = append(all, vertex{artifact: r.Artifacts[i].Path, name: n.Object,
				needs: map[int]analyzer.Severity{}})
		}
	}
	for i := range r.Artifacts {
		a := &r.Artifacts[i]
		for _, n := range a.Needs {
			from := files[[2]string{a.Path, n.Object}]
			for _, library := range n.Libraries {
				to, inside := byName[library]
				if !inside {
					to, inside = byName[path.Base(library)]
				}
				if !inside {
					var known bool
					if to, known = outside[library]; !known {
						to = len(all)
						outside[library] = to
						all = append(all, vertex{name: library})
					}
				}
				if to != from {
					all[from].needs[to] = ""
				}
			}
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		from, ok := files[[2]string{f.Artifact, f.Object}]
		if !ok {
			continue
		}
		all[from].findings++
		all[from].severity = worse(all[from].severity, f.Severity)
		to, ok := byName[f.Library]
		if !ok {
			if to, ok = outside[f.Library]; !ok {
				continue
			}
		}
		if s, needed := all[from].needs[to]; needed {
			all[from].needs[to] = worse(s, f.Severity)
			if all[to].artifact == "" {
				all[to].severity = worse(all[to].severity, f.Severity)
			}
		}
	}
	return all
}

func worse(a, b analyzer.Severity) analyzer.Severity {
	if a.Rank() >= b.Rank() {
		return a
	}
	return b
}

// foldAll is the level of fold with the fewest groups.
const foldAll = 7

// fold returns the group of each vertex, and the number of groups. At level 0 each vertex has its
// own. Then libraries outside that the same files need are one, then files that need the same
// files and all libraries outside, then the files of a folder, of larger and larger folders, and at
// last all files. Vertices with findings are folded only with those of the same severity.
func fold(all []vertex, level int) (group []int, n int) {
	users := make([][]int, len(all))
	for i := range all {
		for _, to := range sortedKeys(all[i].needs) {
			users[to] = append(users[to], i)
		}
	}
	numbers := map[string]int{}
	for i := range all {
		v := &all[i]
		outside := v.artifact == ""
		key := fmt.Sprint(outside, v.severity)
		switch {
		case level == 0, level == 1 && !outside, level <= 2 && outside && v.severity != "":
			key = fmt.Sprint(i)
		case level == 1:
			key += fmt.Sprint(users[i])
		case level == 2 && !outside:
			key += v.artifact + fmt.Sprint(slices.DeleteFunc(sortedKeys(v.needs), func(n int) bool {
				return all[n].artifact == "" && all[n].severity == ""
			}))
		case level > 2 && level < foldAll && !outside:
			dirs := strings.Split(path.Dir(v.name), "/")
			if depth := foldAll - level; level > 3 && len(dirs) > depth {
				dirs = dirs[:depth]
			}
			key += v.artifact + "\x00" + strings.Join(dirs, "/")
		}
		if _, ok := numbers[key]; !ok {
			numbers[key] = len(numbers)
		}
		group = append(group, numbers[key])
	}
	return group, len(numbers)
}

// draw returns groups as nodes with their places.
func draw(all []vertex, group []int, n int) ([]GraphNode, []GraphEdge) {
	nodes, sizes, folders := make([]GraphNode, n), make([]int, n), make([]string, n)
	worst := map[[2]int]analyzer.Severity{}
	for i := range all {
		x := &nodes[group[i]]
		if dir := path.Dir(all[i].name); sizes[group[i]] == 0 {
			folders[group[i]] = dir
		} else {
			folders[group[i]] = common(folders[group[i]], dir)
		}
		sizes[group[i]]++
		if len(x.Names) < maxGraphNames {
			x.Names = append(x.Names, all[i].name)
		}
		x.Outside, x.Severity = all[i].artifact == "", worse(x.Severity, all[i].severity)
		for to, s := range all[i].needs {
			if group[to] != group[i] {
				e := [2]int{group[i], group[to]}
				worst[e] = worse(worst[e], s)
			}
		}
	}
	for i := range nodes {
		nodes[i].Label = label(&nodes[i], sizes[i], folders[i])
	}
	edges := slices.SortedFunc(maps.Keys(worst), func(a, b [2]int) int {
		return cmp.Or(a[0]-b[0], a[1]-b[1])
	})
	place(nodes, edges)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(nodes[a].Column-nodes[b].Column, nodes[a].Row-nodes[b].Row)
	})
	at := make([]int, n)
	sorted := make([]GraphNode, n)
	for i, from := range order {
		at[from], sorted[i] = i, nodes[from]
	}
	out := make([]GraphEdge, len(edges))
	for i, e := range edges {
		out[i] = GraphEdge{at[e[0]], at[e[1]], worst[e]}
	}
	return sorted, out
}

func sortedKeys(m map[int]analyzer.Severity) []int { return slices.Sorted(maps.Keys(m)) }

// common returns the folder that contains two folders.
func common(a, b string) string {
	for a != b && a != "." {
		if len(a) < len(b) {
			a, b = b, a
		}
		a = path.Dir(a)
	}
	return a
}

func label(x *GraphNode, size int, folder string) string {
	switch {
	case size == 1:
		return path.Base(x.Names[0])
	case x.Outside:
		return grouped(size) + " other libraries"
	case folder == ".", folder == "/":
		return number(size, "file")
	}
	return number(size, "file") + " in " + path.Base(folder)
}

// place sets the columns so that edges go to the right, and the rows so that they are short:
// each node is at the mean of those that need it. Libraries outside are in the last column.
func place(nodes []GraphNode, edges [][2]int) {
	next := make([][]int, len(nodes))
	for _, e := range edges {
		next[e[0]] = append(next[e[0]], e[1])
	}
	var order []int // those that need a node are before it, apart from cycles
	seen, open := make([]bool, len(nodes)), make([]bool, len(nodes))
	back := map[[2]int]bool{}
	var visit func(int)
	visit = func(i int) {
		seen[i], open[i] = true, true
		for _, to := range next[i] {
			if !seen[to] {
				visit(to)
			} else if open[to] {
				back[[2]int{i, to}] = true
			}
		}
		open[i] = false
		order = append(order, i)
	}
	for i := range nodes {
		if !seen[i] {
			visit(i)
		}
	}
	for _, i := range slices.Backward(order) {
		for _, to := range next[i] {
			if !back[[2]int{i, to}] {
				nodes[to].Column = max(nodes[to].Column, min(nodes[i].Column+1, maxColumn))
			}
		}
	}
	last := 0
	for i := range nodes {
		if !nodes[i].Outside {
			last = max(last, nodes[i].Column)
		}
	}
	columns := make([][]int, last+2)
	for i := range nodes {
		if nodes[i].Outside {
			nodes[i].Column = last + 1
		}
		columns[nodes[i].Column] = append(columns[nodes[i].Column], i)
	}
	for _, column := range columns {
		mean := map[int]float64{}
		for _, i := range column {
			sum, n := 0, 0
			for _, e := range edges {
				if e[1] == i && nodes[e[0]].Column < nodes[i].Column {
					sum, n = sum+nodes[e[0]].Row, n+1
				}
			}
			if n > 0 {
				mean[i] = float64(sum) / float64(n)
			}
		}
		slices.SortStableFunc(column, func(a, b int) int {
			return cmp.Or(nodes[b].Severity.Rank()-nodes[a].Severity.Rank(),
				cmp.Compare(mean[a], mean[b]), strings.Compare(nodes[a].Label, nodes[b].Label))
		})
		for row, i := range column {
			nodes[i].Row = row
		}
	}
}

// Sizes of the drawing, in CSS pixels.
const (
	nodeWidth  = 190
	nodeHeight = 30
	columnStep = 250
	rowStep    = 40
	margin     = 8
)

// graph returns the drawing and the table; nil if the graph is empty.
func graph(x *Graph) g.Node {
	if len(x.Nodes) == 0 {
		return nil
	}
	columns, rows := 0, 0
	for _, n := range x.Nodes {
		columns, rows = max(columns, n.Column+1), max(rows, n.Row+1)
	}
	width := (columns-1)*columnStep + nodeWidth + 2*margin
	height := (rows-1)*rowStep + nodeHeight + 2*margin
	parts := g.Group{}
	for _, e := range x.Edges {
		parts = append(parts, edge(&x.Nodes[e.From], &x.Nodes[e.To], e.Severity), g.Text("\n"))
	}
	for i := range x.Nodes {
		parts = append(parts, node(&x.Nodes[i]), g.Text("\n"))
	}
	drawing := g.El("svg", h.Class("graph"), h.Role("img"),
		h.Aria("label", "Dependency graph; the table below has the same facts"),
		g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", width, height)),
		h.Width(fmt.Sprint(width)), h.Height(fmt.Sprint(height)), g.Text("\n"), parts)
	return g.Group{
		h.P(h.Class("mark"), g.Text("An arrow goes from a file to a library that it needs. A dashed "+
			"box is not in the artifacts, and ✗ marks errors.")),
		scrolled("Dependency graph", drawing),
		h.Details(h.Summary(g.Text("The graph as a table")), graphTable(x)),
	}
}

func graphTable(x *Graph) g.Node {
	rows := g.Group{}
	for _, r := range x.Rows {
		n := "none"
		if r.Findings > 0 {
			n = grouped(r.Findings)
		}
		rows = append(rows, h.Tr(
			h.Th(g.Attr("scope", "row"), code(r.File)),
			h.Td(some(r.Inside)), h.Td(some(r.Outside)),
			h.Td(h.Span(h.Class(string(r.Severity)), g.Text(n)))), g.Text("\n"))
	}
	if x.More > 0 {
		more := "and " + number(x.More, "more file") + ", in the JSON report"
		rows = append(rows, h.Tr(h.Td(h.ColSpan("4"), g.Text(more))))
	}
	column := func(name string) g.Node { return h.Th(g.Attr("scope", "col"), g.Text(name)) }
	return scrolled("The dependency graph as a table", h.Table(Rows(
		h.THead(h.Tr(column("file"), column("needs, in the artifacts"), column("needs, elsewhere"),
			column("findings"))),
		h.TBody(rows))))
}

// some returns the first names.
func some(names []string) g.Node {
	shown := names[:min(len(names), maxGraphNames)]
	return g.Group{codes(shown, " "), plus(len(names) - len(shown))}
}

func corner(n *GraphNode) (x, y int) { return margin + n.Column*columnStep, margin + n.Row*rowStep }

func edge(from, to *GraphNode, s analyzer.Severity) g.Node {
	x1, y1 := corner(from)
	x2, y2 := corner(to)
	x1, y1, y2 = x1+nodeWidth, y1+nodeHeight/2, y2+nodeHeight/2
	bend := (columnStep - nodeWidth) / 2
	if x2 <= x1 { // part of a cycle
		x1, bend = x1-nodeWidth/2, columnStep/2
		x2 += nodeWidth / 2
	}
	return g.El("path", h.Class("edge "+string(s)),
		g.Attr("d", fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)))
}

func node(n *GraphNode) g.Node {
	x, y := corner(n)
	class, sign := "node "+string(n.Severity), ""
	if n.Outside {
		class += " outside"
	}
	if n.Severity == analyzer.Error {
		sign = "✗ "
	}
	names := make([]string, len(n.Names))
	for i, s := range n.Names {
		names[i] = mdsafe.Cut(mdsafe.Visible(s), 200)
	}
	const shown = 21 // characters that fit
	return g.El("g", h.Class(class),
		g.El("title", g.Text(strings.Join(names, ", "))),
		g.El("rect", g.Attr("x", fmt.Sprint(x)), g.Attr("y", fmt.Sprint(y)), g.Attr("rx", "4"),
			h.Width(fmt.Sprint(nodeWidth)), h.Height(fmt.Sprint(nodeHeight))),
		g.El("text", g.Attr("x", fmt.Sprint(x+8)), g.Attr("y", fmt.Sprint(y+20)),
			g.Text(sign+mdsafe.Cut(mdsafe.Visible(n.Label), shown))))
}
