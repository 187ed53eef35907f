package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func cliPage(p *sheet) {
	p.heading(1, titles["cli"])
	p.text("Exit status: 0 done, 1 failed, 2 wrong usage or configuration.")
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.HasParent() {
			fmt.Fprintf(p, "## %s\n\n", c.CommandPath())
			p.text(c.Short + ".")
		}
		if c.Runnable() {
			p.code(c.UseLine())
		}
		if c.HasParent() && c.Long != "" {
			p.code(c.Long)
		}
		if c.Example != "" {
			p.text("Examples:")
			p.code(c.Example)
		}
		var rows [][]string
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name, usage := pflag.UnquoteUsage(f)
			value := f.DefValue
			if value == "false" || value == "[]" || value == "0s" && strings.Contains(usage, "default") {
				value = ""
			}
			rows = append(rows, []string{tick(strings.TrimSpace("--" + f.Name + " " + name)), tick(value), p.w(usage)})
		})
		p.table("Flag, Default, Meaning", rows)
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(rootCommand())
}
