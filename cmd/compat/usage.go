package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Columns of the help: all, and those of the names of commands.
const (
	usageColumns = 100
	nameColumns  = 12
)

// writeUsage writes what follows the text of a command in its help, as cobra does, but with flags
// in lines that fit a terminal, and without the names of Go types.
func writeUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:\n")
	if c.Runnable() && (c.HasParent() || !c.HasAvailableSubCommands()) {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	for _, group := range c.Groups() {
		writeCommands(w, c, group.ID, group.Title)
	}
	other := "Other commands:"
	if len(c.Groups()) == 0 {
		other = "Commands:"
	}
	writeCommands(w, c, "", other)
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s",
			valueNames.Replace(c.LocalFlags().FlagUsagesWrapped(usageColumns)))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s [command] --help describes a command.\n", c.CommandPath())
	}
	return nil
}

// valueNames replaces types in the column of flags, with names of the same length.
var valueNames = strings.NewReplacer(
	" stringArray ", " VALUE       ", " strings ", " VALUE   ", " string ", " VALUE  ",
	" int ", " N   ",
)

// writeCommands writes the commands of a group; "" = those without one.
func writeCommands(w io.Writer, c *cobra.Command, group, title string) {
	for _, sub := range c.Commands() {
		if sub.GroupID != group || !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		if title != "" {
			fmt.Fprintf(w, "\n%s\n", title)
			title = ""
		}
		fmt.Fprintf(w, "  %-*s %s\n", nameColumns, sub.Name(), sub.Short)
	}
}
