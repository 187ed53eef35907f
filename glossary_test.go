package bellman_test

import (
	"regexp"
	"strings"
	"testing"
)

// Words that readers did not understand, each with the word that is used instead. In Chinese a word
// may stand within one that is right.
var (
	unused = map[string]string{
		"told at": "notified at", "failed last": "latest failures", "what with": "target", "nobody had to say": "no sign-in",
		"how it begins": "starts with", "its life": "history", "are taken in": "are accepted", "should be at": "due",
	}
	unusedInChinese = map[string]string{
		"计划": "时间表", "排程": "时间表", "应于": "到期时间", "回执": "应答", "重推": "重发", "补推": "重发", "收单方": "渠道", "下游商户": "商户",
		"顺序键": "排序键", "出站防护": "出口策略", "出口检查": "出口策略", "消息代理": "消息中间件", "消息来源": "消息源",
	}
	rightInChinese = strings.NewReplacer("执行计划", "")
)

// The console and the pages use the words of the glossary.
func TestGlossary(t *testing.T) {
	texts := pages(t)
	for _, words := range []string{"internal/console/words/en.json", "internal/console/words/zh.json"} {
		texts[words] = read(t, words)
	}
	for page, text := range texts {
		words, form := unused, `(?i)\b%s\b`
		if strings.HasPrefix(page, "docs/zh/") || strings.HasSuffix(page, "zh-CN.md") || strings.HasSuffix(page, "zh.json") {
			words, form, text = unusedInChinese, "%s", rightInChinese.Replace(text)
		}
		for word, instead := range words {
			found := regexp.MustCompile(strings.Replace(form, "%s", regexp.QuoteMeta(word), 1))
			for i, line := range strings.Split(text, "\n") {
				if found.MatchString(line) {
					t.Errorf("%s, line %d: %q; want %s", page, i+1, word, instead)
				}
			}
		}
	}
}
