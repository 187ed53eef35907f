package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const manifests = "../kubernetes"

// kinds are the objects that manifests may have, by apiVersion and kind.
var kinds = map[string]func() any{
	"v1/Namespace":                       func() any { return new(core.Namespace) },
	"v1/ServiceAccount":                  func() any { return new(core.ServiceAccount) },
	"v1/ConfigMap":                       func() any { return new(core.ConfigMap) },
	"v1/Secret":                          func() any { return new(core.Secret) },
	"v1/Service":                         func() any { return new(core.Service) },
	"apps/v1/Deployment":                 func() any { return new(apps.Deployment) },
	"apps/v1/StatefulSet":                func() any { return new(apps.StatefulSet) },
	"policy/v1/PodDisruptionBudget":      func() any { return new(policy.PodDisruptionBudget) },
	"networking.k8s.io/v1/NetworkPolicy": func() any { return new(networking.NetworkPolicy) },
}

// objects reads every manifest. An unknown field, a duplicate field, and a value of another type
// fail the test.
func objects(t *testing.T) (all []any) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%s has %d manifests, %v", manifests, len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
			one, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			object, err := strict(one)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			all = append(all, object)
		}
	}
	return all
}

func strict(text []byte) (any, error) {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(text, &meta); err != nil {
		return nil, err
	}
	known := kinds[meta.APIVersion+"/"+meta.Kind]
	if known == nil {
		return nil, errors.New(meta.APIVersion + "/" + meta.Kind + " is not among the kinds of this test")
	}
	object := known()
	return object, yaml.UnmarshalStrict(text, object)
}

func TestManifests(t *testing.T) {
	seen := map[string]bool{}
	pods := map[string]labels.Set{} // of what runs, by its kind
	for _, o := range objects(t) {
		switch o := o.(type) {
		case *apps.Deployment:
			seen["Deployment"] = true
			pods["Deployment"] = labels.Set(o.Spec.Template.Labels)
			selects(t, "the deployment", o.Spec.Selector, o.Spec.Template.Labels)
			pod(t, "the deployment", &o.Spec.Template.Spec, nil)
		case *apps.StatefulSet:
			seen["StatefulSet"] = true
			pods["StatefulSet"] = labels.Set(o.Spec.Template.Labels)
			selects(t, "the stateful set", o.Spec.Selector, o.Spec.Template.Labels)
			var claims []string
			for _, c := range o.Spec.VolumeClaimTemplates {
				claims = append(claims, c.Name)
			}
			pod(t, "the stateful set", &o.Spec.Template.Spec, claims)
			if *o.Spec.Replicas != 1 {
				t.Errorf("the embedded store has %d replicas; one process has the directory", *o.Spec.Replicas)
			}
		case *policy.PodDisruptionBudget:
			seen["PodDisruptionBudget"] = true
			selects(t, "the disruption budget", o.Spec.Selector, map[string]string{"app.kubernetes.io/name": "bellman"})
		case *networking.NetworkPolicy:
			seen["NetworkPolicy"] = true
			selects(t, "the network policy", &o.Spec.PodSelector, map[string]string{"app.kubernetes.io/name": "bellman"})
		case *core.Service:
			seen["Service"] = true
			selects(t, "the service", &metav1.LabelSelector{MatchLabels: o.Spec.Selector}, map[string]string{"app.kubernetes.io/name": "bellman"})
			if to := o.Spec.Ports[0].TargetPort.String(); to != "api" {
				t.Errorf("the service leads to port %q; want api", to)
			}
		case *core.Namespace, *core.ServiceAccount, *core.ConfigMap, *core.Secret:
			seen[strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")] = true
		}
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy", "Service", "Namespace", "ServiceAccount", "ConfigMap", "Secret"} {
		if !seen[kind] {
			t.Errorf("there is no %s", kind)
		}
	}
	if pods["Deployment"].String() != "app.kubernetes.io/name=bellman" || pods["Deployment"].String() != pods["StatefulSet"].String() {
		t.Errorf("pods are labelled %v; want app.kubernetes.io/name=bellman", pods)
	}
}

func selects(t *testing.T, what string, by *metav1.LabelSelector, pod map[string]string) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(by)
	if err != nil || s.Empty() || !s.Matches(labels.Set(pod)) {
		t.Errorf("%s selects by %v, %v; want what matches %v", what, by, err, pod)
	}
}

// pod holds what a pod of bellman must have, beyond being well formed.
func pod(t *testing.T, what string, p *core.PodSpec, claims []string) {
	t.Helper()
	c := p.Containers[0]
	volumes := map[string]bool{}
	for _, name := range claims {
		volumes[name] = true
	}
	for _, v := range p.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s mounts %s, which is no volume", what, m.Name)
		}
	}
	for name, probe := range map[string]*core.Probe{"startup /healthz": c.StartupProbe, "liveness /healthz": c.LivenessProbe, "readiness /readyz": c.ReadinessProbe} {
		_, path, _ := strings.Cut(name, " ")
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("%s: the probe of %s is %v", what, name, probe)
		}
	}
	if r := c.ReadinessProbe; r != nil && r.TimeoutSeconds <= 2 {
		t.Errorf("%s: readiness is given %d s; the store is given 2", what, r.TimeoutSeconds)
	}
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Sleep == nil {
		t.Fatalf("%s does not wait before it stops", what)
	}
	// stop_timeout of configmap.yaml, the requests' 5 s, a second for the commits.
	if want := c.Lifecycle.PreStop.Sleep.Seconds + 20 + 5 + 1; *p.TerminationGracePeriodSeconds < want {
		t.Errorf("%s is killed after %d s; a stop may take %d", what, *p.TerminationGracePeriodSeconds, want)
	}
	s, ps := c.SecurityContext, p.SecurityContext
	if s == nil || ps == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" ||
		!*ps.RunAsNonRoot || *ps.RunAsUser == 0 || ps.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s is not restricted: %v, %v", what, s, ps)
	}
	if p.EnableServiceLinks == nil || *p.EnableServiceLinks || *p.AutomountServiceAccountToken {
		t.Errorf("%s is given the variables of services, or a token", what)
	}
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s has no limit of memory, or no request of processor time", what)
	}
}

// A field that is misspelt, or given twice, is seen.
func TestStrict(t *testing.T) {
	for _, text := range []string{
		"apiVersion: apps/v1\nkind: Deployment\nspec: {replica: 3}",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: many}",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 1, replicas: 2}",
		"apiVersion: apps/v2\nkind: Deployment",
	} {
		if _, err := strict([]byte(text)); err == nil {
			t.Errorf("strict(%q) found nothing wrong", text)
		}
	}
}
