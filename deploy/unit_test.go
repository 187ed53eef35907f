package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unit reads the systemd unit: section, key, values in their order.
func unit(t *testing.T) map[string]map[string][]string {
	t.Helper()
	all := map[string]map[string][]string{}
	section := ""
	for line := range strings.Lines(read(t, "systemd/bellman.service")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			all[section] = map[string][]string{}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("the unit's line %q is no setting", line)
		}
		all[section][key] = append(all[section][key], value)
	}
	return all
}

// The unit runs the program that the package installs. It restarts it after a pause, and not at all
// after an error that only a person can correct.
func TestUnit(t *testing.T) {
	u := unit(t)
	s := u["Service"]
	for key, want := range map[string]string{
		"ExecStart":                "/usr/bin/bellman serve --config /etc/bellman/bellman.yaml",
		"User":                     "bellman",
		"Restart":                  "on-failure",
		"RestartPreventExitStatus": "2",
		"StateDirectory":           "bellman bellman-backups", // a backup must be outside the store's directory
		"StateDirectoryMode":       "0700",
		"ProtectSystem":            "strict",
		"NoNewPrivileges":          "yes",
		"CapabilityBoundingSet":    "",
		"EnvironmentFile":          "-/etc/bellman/environment",
	} {
		if got := s[key]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q; want %q", key, got, want)
		}
	}
	if every := seconds(t, s["RestartSec"][0]); every < 2*time.Second || every > 30*time.Second {
		t.Errorf("it is started again after %v; want no spinning, and no long silence", every)
	}
	if got := u["Unit"]["StartLimitIntervalSec"]; !slices.Equal(got, []string{"0"}) {
		t.Errorf("StartLimitIntervalSec is %q; systemd must not give up while a database is away", got)
	}
	deb := read(t, "../scripts/dist-deb")
	for _, file := range []string{"usr/bin/bellman", "etc/bellman/bellman.yaml", "etc/bellman/environment", "usr/lib/systemd/system/bellman.service"} {
		if !strings.Contains(deb, file+"\n") {
			t.Errorf("scripts/dist-deb does not install %s", file)
		}
		if strings.HasPrefix(file, "etc/") && !strings.Contains(read(t, "debian/conffiles"), "/"+file+"\n") {
			t.Errorf("%s is no conffile: an upgrade would overwrite it", file)
		}
	}
}

// systemd reads the unit without a complaint, and finds it as closed as it can be.
func TestUnitAsSystemdReadsIt(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	root := t.TempDir()
	for file, text := range map[string]string{
		"usr/bin/bellman":                              "#!/bin/sh\n",
		"bin/kill":                                     "#!/bin/sh\n",
		"usr/lib/systemd/system/bellman.service":       read(t, "systemd/bellman.service"),
		"usr/lib/systemd/system/network-online.target": "[Unit]\n",
		"usr/lib/systemd/system/time-sync.target":      "[Unit]\n",
		"usr/lib/systemd/system/sysinit.target":        "[Unit]\n",
		"usr/lib/systemd/system/basic.target":          "[Unit]\n",
		"usr/lib/systemd/system/shutdown.target":       "[Unit]\n",
		"usr/lib/systemd/system/system.slice":          "[Slice]\n",
		"usr/lib/systemd/system/-.slice":               "[Slice]\n",
		"usr/lib/systemd/system/tmp.mount":             "[Mount]\nWhat=tmpfs\nWhere=/tmp\n",
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(analyze, "verify", "--root="+root, "--man=no", "/usr/lib/systemd/system/bellman.service").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "bellman.service") {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	if err != nil {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// In tenths: 96 is an open door, 20 is what systemd calls OK at best.
	out, err = exec.Command(analyze, "security", "--root="+root, "--offline=true", "--threshold=20", "--no-pager", "bellman.service").CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
