package main

import (
	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/sandbox"
)

// analyzeCommand is the hidden command that the service starts for each analysis.
const analyzeCommand = "analyze"

func newAnalyzeCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use: analyzeCommand, Short: "Check one job of the service (internal)", Hidden: true,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			defer collect()()
			return sandbox.Serve(c.Context(), env.In, env.Out, analyzer.New(rules.All()))
		},
	}
}
