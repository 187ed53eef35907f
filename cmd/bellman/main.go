// Bellman delivers notifications and polls payment channels on a schedule until the answer is
// final: durable, for payment platforms, in one program without other services.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = "dev"

func main() {
	c, err := rootCommand().ExecuteC()
	if err != nil {
		report(os.Stderr, c, err)
	}
	os.Exit(exitStatus(err))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "bellman",
		Short: "Durable notification for payment platforms",
		Long: `Bellman keeps asking, and keeps telling, until the answer is final.

Exit status: 0 done, 1 failed, 2 wrong usage or configuration.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.SetVersionTemplate("bellman {{.Version}}\n") // same output as the command version
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "operate", Title: "Operate a running server:"},
		&cobra.Group{ID: "store", Title: "Look after a store:"}, &cobra.Group{ID: "look", Title: "Look up:"})
	group(root, "run", serveCommand(), demoCommand())
	group(root, "operate", sendCommand(), getCommand(), listCommand(), resendCommand(), resendsCommand(), linkCommand(), cancelCommand(), rescheduleCommand(),
		completeCommand(), decideCommand(), ordersCommand(), orderCommand(), settleCommand(), noticesCommand(), reconcileCommand(), pauseCommand(), resumeCommand(), queuesCommand(), endpointsCommand(), merchantsCommand(), accountsCommand(), nodesCommand(), sourcesCommand(), alarmsCommand(), attentionCommand(), auditCommand())
	group(root, "store", backupCommand(), exportCommand(), checkCommand(), doctorCommand(), migrateCommand(), moveCommand(), importCommand())
	group(root, "look", benchCommand(), benchChildCommand(), scheduleCommand(), keyCommand(), checkConfigCommand(), openapiCommand(), versionCommand())

	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Args = helpTopic
		}
	}

	complete(root)
	return root
}

// helpTopic returns an error if the argument of help is not a command.
func helpTopic(c *cobra.Command, args []string) error {
	_, rest, err := c.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("help: there is no command %q", strings.Join(args, " "))
	}
	return err
}

// group adds commands under a heading of the help text.
func group(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(marksFailure(c))
	}
}

// marksFailure wraps every error of the command's run in failed, unless it is a wrong.
func marksFailure(c *cobra.Command) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || errors.As(err, &wrong{}) {
			return err
		}
		return failed{err}
	}
	return c
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  flagsAlone,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "bellman", version)
			return err
		},
	}
}
