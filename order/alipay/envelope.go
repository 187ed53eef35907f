package alipay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// errorNode holds what the gateway itself refused, signed or not.
const errorNode = "error_response"

// An envelope is the outermost object of an answer: the answer proper, which is signed, and its
// signature. The signature covers neither the name of the answer nor its time.
type envelope struct {
	node   string // the name that the answer stands under, or errorNode
	text   []byte // the answer proper, to the byte as it stands in the body
	sign   string // in base64; empty: none
	certSN string // of the certificate that it is signed with; empty: it does not say
}

// open reads an envelope. node is the name of the wanted answer. If it is missing, an error answer
// is read. The envelope is parsed as JSON and not searched, because a string can contain the same
// text. A duplicate name is an error, as in Alipay's own SDK, because the two values may differ.
func open(body []byte, node string) (envelope, error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return envelope{}, errors.New("the answer is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return envelope{}, errors.New("the answer is not a JSON object")
	}
	found := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return envelope{}, errors.New("the answer is not JSON")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return envelope{}, errors.New("the answer is not JSON")
		}
		key, _ := name.(string)
		if key != node && key != errorNode && key != "sign" && key != "alipay_cert_sn" {
			continue
		}
		if found[key] != nil {
			return envelope{}, fmt.Errorf("the answer has %s twice: no telling which was signed", key)
		}
		found[key] = value
	}
	e := envelope{node: node, text: found[node]}
	if e.text == nil {
		e.node, e.text = errorNode, found[errorNode]
	}
	switch {
	case e.text == nil:
		return envelope{}, fmt.Errorf("the answer has no %s", node)
	case e.text[0] == '"':
		return envelope{}, fmt.Errorf("%s is encrypted: turn 接口内容加密 off for this application", e.node)
	case e.text[0] != '{':
		return envelope{}, fmt.Errorf("%s is not a JSON object", e.node)
	}
	for name, text := range map[string]*string{"sign": &e.sign, "alipay_cert_sn": &e.certSN} {
		if found[name] != nil && json.Unmarshal(found[name], text) != nil {
			return envelope{}, fmt.Errorf("the answer's %s is not a string", name)
		}
	}
	return e, nil
}

// verify returns the text that was signed: the answer as it stands, or, where
// that does not verify, with every \/ in it as /. Alipay's SDK tries both
// (DefaultAlipayClient.checkResponseSign), because some of Alipay's systems sign
// before they write / as \/. Only what was signed may be read.
func (e envelope) verify(keys []*sign.RSAVerifier) (text []byte, err error) {
	if e.sign == "" {
		return nil, errors.New("the answer is not signed")
	}
	for _, key := range keys {
		if key.Verify(e.text, e.sign) {
			return e.text, nil
		}
	}
	if bytes.Contains(e.text, []byte(`\/`)) {
		plain := bytes.ReplaceAll(e.text, []byte(`\/`), []byte(`/`))
		for _, key := range keys {
			if key.Verify(plain, e.sign) {
				return plain, nil
			}
		}
	}
	return nil, errors.New("the answer's signature is wrong")
}

// refusal returns the error that an answer reports, for people. If the answer was not verified, the
// text may come from anybody.
func (e envelope) refusal() string {
	var r struct {
		Code    string `json:"code"`
		Msg     string `json:"msg"`
		SubCode string `json:"sub_code"`
	}
	if json.Unmarshal(e.text, &r) != nil || r.Code == "" || r.Code == "10000" {
		return ""
	}
	return fmt.Sprintf("; it says %.8q, %.80q", r.Code, strings.TrimSpace(r.Msg+" "+r.SubCode))
}
