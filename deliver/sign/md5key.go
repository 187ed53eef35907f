package sign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/internal/coded"
)

// Params say how md5_key signs parameters. The zero Params sign as md5_params does.
type Params struct {
	Preset string   // defaults of the other fields: jeepay or roncoo; empty: those of md5_params
	Name   string   // of the parameter that holds the signature; default sign
	Order  string   // sorted (by the bytes of the names), ignore_case (name=value& as jeepay sorts) or given; default sorted
	Key    string   // text between the parameters and the secret; none: no text; default &key=
	Case   string   // of the signature: upper or lower; default upper
	Empty  string   // skip (empty values), skip_blank (also white space alone) or keep; default skip
	Fields []string // only these are signed; with the order given in this order; default: all but Name
}

// presets are the defaults of platforms that differ from WeChat Pay v2. jeepay and xxpay
// (JeepayKit.getSign, PayDigestUtil.getSign) sort the texts name=value& by
// String.CASE_INSENSITIVE_ORDER. https://github.com/jeequan/jeepay,
// jeepay-core/…/core/utils/JeepayKit.java roncoo-pay (MerchantApiUtil.getSign) writes &paySecret=
// and the secret, and leaves out values of white space alone. https://github.com/roncoo/roncoo-pay,
// roncoo-pay-service/…/trade/utils/MerchantApiUtil.java
var presets = map[string]Params{
	"":       {Name: "sign", Order: "sorted", Key: "&key=", Case: "upper", Empty: "skip"},
	"jeepay": {Name: "sign", Order: "ignore_case", Key: "&key=", Case: "upper", Empty: "skip"},
	"roncoo": {Name: "sign", Order: "sorted", Key: "&paySecret=", Case: "upper", Empty: "skip_blank"},
}

// IsZero reports whether all fields of p are empty.
func (p *Params) IsZero() bool {
	return p.Preset+p.Name+p.Order+p.Key+p.Case+p.Empty == "" && len(p.Fields) == 0
}

// ParseParams reads the text of Params: NAME=VALUE with blanks between them, such as
// "preset=jeepay case=lower fields=a,b". An empty text is the zero Params.
func ParseParams(text string) (p Params, err error) {
	for item := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(item, "=")
		to := map[string]*string{"preset": &p.Preset, "name": &p.Name, "order": &p.Order, "key": &p.Key, "case": &p.Case, "empty": &p.Empty}[name]
		switch {
		case value == "":
			return p, coded.Errorf("sign.params_item", "%.40q: want NAME=VALUE, such as order=given", item)
		case name == "fields" && p.Fields == nil:
			p.Fields = strings.Split(value, ",")
		case to == nil || *to != "":
			return p, coded.Errorf("sign.params_name", "%.40q: want each of preset, name, order, key, case, empty and fields at most once", name)
		default:
			*to = value
		}
	}
	return p, nil
}

// complete returns p with the defaults of its preset. An error names the wrong field.
func (p Params) complete() (Params, error) {
	base, known := presets[p.Preset]
	if !known {
		return p, coded.Errorf("sign.params_preset", "preset: %.40q: want jeepay or roncoo", p.Preset)
	}
	p.Name, p.Order, p.Key = cmp.Or(p.Name, base.Name), cmp.Or(p.Order, base.Order), cmp.Or(p.Key, base.Key)
	p.Case, p.Empty = cmp.Or(p.Case, base.Case), cmp.Or(p.Empty, base.Empty)
	for _, f := range []struct {
		name, value string
		of          []string
	}{{"order", p.Order, []string{"sorted", "ignore_case", "given"}}, {"case", p.Case, []string{"upper", "lower"}}, {"empty", p.Empty, []string{"skip", "skip_blank", "keep"}}} {
		if !slices.Contains(f.of, f.value) {
			return p, coded.Errorf("sign.params_choice", "%s: %.40q: want one of %s", f.name, f.value, strings.Join(f.of, ", "))
		}
	}
	for i, name := range p.Fields {
		if name == "" || name == p.Name || slices.Contains(p.Fields[:i], name) {
			return p, coded.Errorf("sign.params_field", "fields: %.40q: want names of parameters, each once, without that of the signature", name)
		}
	}
	if p.Key == "none" {
		p.Key = ""
	}
	return p, nil
}
