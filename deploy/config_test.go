package deploy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/bellmanhq/bellman/internal/config"
)

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents reads a file of YAML documents.
func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	return parsed(t, file, read(t, file))
}

// parsed reads the text of a file of YAML documents.
func parsed(t *testing.T, file, text string) (all []map[string]any) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var one map[string]any
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, one)
	}
}

// at walks into a document; nil where there is nothing.
func at(doc any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := doc.(map[string]any)
			doc = m[step]
		case int:
			l, _ := doc.([]any)
			if step >= len(l) {
				return nil
			}
			doc = l[step]
		}
	}
	return doc
}

// configured reads a configuration as bellman does, with variables.
func configured(t *testing.T, what, text string, env map[string]string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bellman.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Read(file, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var names []string
	for name, value := range env {
		names = append(names, name+"="+value)
	}
	if err := c.CheckNames(names); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return c
}

// writesTo reports whether a pod has an empty directory at path.
func writesTo(pod any, path string) bool {
	mounts, _ := at(pod, "containers", 0, "volumeMounts").([]any)
	volumes, _ := at(pod, "volumes").([]any)
	for _, m := range mounts {
		if at(m, "mountPath") != path || at(m, "readOnly") == true {
			continue
		}
		for _, v := range volumes {
			if at(v, "name") == at(m, "name") && at(v, "emptyDir") != nil {
				return true
			}
		}
	}
	return false
}

// stops fails if bellman may be killed before it has stopped: attempts in flight need stop_timeout,
// requests 5 s, and the last commits a second.
func stops(t *testing.T, what string, c *config.Config, before, allowed time.Duration) {
	t.Helper()
	if want := before + c.StopTimeout + 5*time.Second + time.Second; allowed < want {
		t.Errorf("%s gives a stop %v; it may take %v", what, allowed, want)
	}
}

// What the package installs is a configuration, and needs no keys.
func TestConfigurationOfPackage(t *testing.T) {
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^#? ?(BELLMAN_\w+)=(.*)$`).FindAllStringSubmatch(read(t, "debian/environment"), -1) {
		env[m[1]] = m[2]
	}
	if len(env) == 0 {
		t.Error("debian/environment shows no variable")
	}
	c := configured(t, "debian/bellman.yaml", read(t, "debian/bellman.yaml"), nil)
	if c.Listen != "127.0.0.1:2355" || c.Store != "pebble:/var/lib/bellman" {
		t.Errorf("the package listens on %s with store %s", c.Listen, c.Store)
	}
	configured(t, "debian/environment", read(t, "debian/bellman.yaml"), env)
	stops(t, "the unit", c, 0, seconds(t, unit(t)["Service"]["TimeoutStopSec"][0]))
}

func seconds(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The compose file and its configuration fit each other and the program.
func TestCompose(t *testing.T) {
	compose := documents(t, "docker/compose.yaml")[0]
	env := map[string]string{}
	secrets, _ := at(compose, "secrets").(map[string]any)
	for _, service := range []string{"bellman-1", "bellman-2"} {
		s := at(compose, "services", service)
		for name, value := range at(s, "environment").(map[string]any) {
			env[name] = fmt.Sprint(value)
		}
		if at(s, "read_only") != true || at(s, "user") == nil || at(s, "cap_drop", 0) != "ALL" {
			t.Errorf("%s may write, is root, or has capabilities", service)
		}
		if at(s, "tmpfs", 0) != "/tmp" {
			t.Errorf("%s has no /tmp that it may write, where a reconciliation keeps the bill", service)
		}
		for _, name := range at(s, "secrets").([]any) {
			if secrets[name.(string)] == nil {
				t.Errorf("%s wants the secret %s, which there is not", service, name)
			}
		}
		c := configured(t, "docker/bellman.yaml", read(t, "docker/bellman.yaml"), env)
		if !strings.HasSuffix(at(s, "ports", 0).(string), c.Listen) {
			t.Errorf("%s listens on %s; its port is %v", service, c.Listen, at(s, "ports", 0))
		}
		stops(t, service, c, 0, seconds(t, at(s, "stop_grace_period").(string)))
	}
	for name, secret := range secrets {
		if file := "./secrets/" + name; at(secret, "file") != file || !strings.Contains(read(t, "docker/compose.yaml"), "> secrets/"+name) {
			t.Errorf("the secret %s is at %v, and the head of the file does not make it", name, at(secret, "file"))
		}
	}
	if file := strings.TrimPrefix(env["BELLMAN_STORE"], "file:/run/secrets/"); secrets[file] == nil {
		t.Errorf("BELLMAN_STORE is %s, which is no secret", env["BELLMAN_STORE"])
	}
}

// The configuration in the manifests is valid with the environment of the pods, and the pods allow
// enough time for a stop.
func TestConfigurationOfKubernetes(t *testing.T) {
	text := at(documents(t, "kubernetes/configmap.yaml")[0], "data", "bellman.yaml").(string)
	secret := documents(t, "kubernetes/secret.example.yaml")[0]
	for _, file := range []string{"deployment.yaml", "embedded.yaml"} {
		pod := at(documents(t, "kubernetes/"+file)[0], "spec", "template", "spec")
		env := map[string]string{}
		if vars, ok := at(pod, "containers", 0, "env").([]any); ok {
			for _, v := range vars {
				if name := at(v, "name").(string); strings.HasPrefix(name, "BELLMAN_") {
					value, _ := at(v, "value").(string)
					env[name] = strings.ReplaceAll(value, "$(POD_IP)", "10.0.0.5")
				}
			}
		}
		c := configured(t, file, text, env)
		if !writesTo(pod, "/tmp") {
			t.Errorf("%s: the pod has no /tmp that it may write, where a reconciliation keeps the bill", file)
		}
		port := at(pod, "containers", 0, "ports", 0, "containerPort")
		if c.Listen != fmt.Sprint(":", port) {
			t.Errorf("%s: listens on %s; the container's port is %v", file, c.Listen, port)
		}
		if a := env["BELLMAN_ADVERTISE"]; a != "" && !strings.HasSuffix(a, c.Listen) {
			t.Errorf("%s: advertises %s, and listens on %s", file, a, c.Listen)
		}
		sleep := at(pod, "containers", 0, "lifecycle", "preStop", "sleep", "seconds").(uint64)
		stops(t, file, c, time.Duration(sleep)*time.Second, time.Duration(at(pod, "terminationGracePeriodSeconds").(uint64))*time.Second)
		for _, m := range regexp.MustCompile(`file:/run/secrets/bellman/(\w+)`).FindAllStringSubmatch(text+read(t, "kubernetes/"+file), -1) {
			if at(secret, "stringData", m[1]) == nil {
				t.Errorf("%s: wants %s of the secret, which secret.example.yaml has not", file, m[1])
			}
		}
	}
	for _, r := range at(documents(t, "kubernetes/kustomization.yaml")[0], "resources").([]any) {
		if _, err := os.Stat(filepath.Join("kubernetes", r.(string))); err != nil {
			t.Error(err)
		}
	}
}

// noticesOff is a line about notices.listen, which is a comment as long as no notices are wanted.
var noticesOff = regexp.MustCompile(`(?m)^( *)# ((?:- .*)?notices\b.*)$`)

// withNotices returns the documents of a file in which these lines are no comments.
func withNotices(t *testing.T, file string) (text string, all []map[string]any) {
	t.Helper()
	off := read(t, file)
	text = noticesOff.ReplaceAllString(off, "$1$2")
	if text == off {
		t.Errorf("%s has no line about notices", file)
	}
	return text, parsed(t, file, text)
}

// Whoever wants notices takes a # away in each file. The lines then lead to the port of
// notices.listen.
func TestPortOfNotices(t *testing.T) {
	_, maps := withNotices(t, "kubernetes/configmap.yaml")
	text, _ := at(maps[0], "data", "bellman.yaml").(string)
	listen := configured(t, "kubernetes/configmap.yaml", text, nil).Notices.Listen
	for _, file := range []string{"kubernetes/deployment.yaml", "kubernetes/embedded.yaml"} {
		_, sets := withNotices(t, file)
		port := at(sets[0], "spec", "template", "spec", "containers", 0, "ports", 1)
		if at(port, "name") != "notices" || fmt.Sprint(":", at(port, "containerPort")) != listen {
			t.Errorf("%s: the second port is %v; want notices at %s", file, port, listen)
		}
	}
	_, services := withNotices(t, "kubernetes/service.yaml")
	if port := at(services[0], "spec", "ports", 1); at(port, "name") != "notices" || at(port, "targetPort") != "notices" {
		t.Errorf("kubernetes/service.yaml: the second port is %v; want notices", port)
	}
	_, policies := withNotices(t, "kubernetes/network.yaml")
	if port := at(policies[0], "spec", "ingress", 0, "ports", 1, "port"); port != "notices" {
		t.Errorf("kubernetes/network.yaml: the second port is %v; want notices", port)
	}

	text, _ = withNotices(t, "docker/bellman.yaml")
	listen = configured(t, "docker/bellman.yaml", text, nil).Notices.Listen
	_, composes := withNotices(t, "docker/compose.yaml")
	for _, service := range []string{"bellman-1", "bellman-2"} {
		if port, _ := at(composes[0], "services", service, "ports", 1).(string); listen == "" || !strings.HasSuffix(port, listen) {
			t.Errorf("docker/compose.yaml: the second port of %s is %q; want %s of the container", service, port, listen)
		}
	}
}
