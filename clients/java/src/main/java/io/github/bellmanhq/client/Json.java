package io.github.bellmanhq.client;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/**
 * JSON text that stands as it is: what an object mapper of your own wrote, for fields that take any value, such as
 * {@code CreateTask.json}. Maps, lists, text, numbers, booleans and null can be given there too. What is read comes as
 * these: integers that fit as Long, other numbers as BigDecimal, to the digit.
 */
public record Json(String text) {
    /** Throws an IllegalArgumentException where the text is no JSON. */
    public Json {
        parse(text);
    }

    static Object parse(String text) {
        var p = new Parser(text);
        Object value = p.value(0);
        p.blank();
        if (p.at < text.length()) throw p.wrong("more text after the value");
        return value;
    }

    // Times have milliseconds, always three digits.
    private static final DateTimeFormatter TIME = new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

    static String time(Instant t) {
        return TIME.format(t);
    }

    static void write(StringBuilder out, Object v) {
        if (v == null || v instanceof Boolean) {
            out.append(v);
        } else if (v instanceof String s) {
            quote(out, s);
        } else if (v instanceof Json json) {
            out.append(json.text);
        } else if (v instanceof Double || v instanceof Float) {
            double d = ((Number) v).doubleValue();
            if (!Double.isFinite(d)) throw new IllegalArgumentException("JSON has no " + v);
            out.append(v);
        } else if (v instanceof Number) {
            out.append(v);
        } else if (v instanceof Instant t) {
            quote(out, time(t));
        } else if (v instanceof Value value) {
            if (value.value().isEmpty()) throw new IllegalArgumentException(v.getClass().getSimpleName() + "." + v + " cannot be sent");
            quote(out, value.value());
        } else if (v instanceof Shape shape) {
            write(out, shape.asMap());
        } else if (v instanceof Map<?, ?> map) {
            out.append('{');
            String between = "";
            for (var e : entries(map)) {
                out.append(between);
                quote(out, String.valueOf(e.getKey()));
                out.append(':');
                write(out, e.getValue());
                between = ",";
            }
            out.append('}');
        } else if (v instanceof Iterable<?> list) {
            out.append('[');
            String between = "";
            for (Object item : list) {
                out.append(between);
                write(out, item);
                between = ",";
            }
            out.append(']');
        } else {
            throw new IllegalArgumentException("a " + v.getClass().getName() + " is no JSON: give a Map, a List, text, a number, a boolean, or new Json(text)");
        }
    }

    /**
     * The entries in the map's own order, or by their names if it has none. The order of Map.of and HashMap can differ in
     * the next run of a program, and the server takes other bytes under the same key for other content.
     */
    private static Collection<? extends Map.Entry<?, ?>> entries(Map<?, ?> map) {
        if (map instanceof LinkedHashMap || map instanceof SortedMap) return map.entrySet();
        var sorted = new ArrayList<Map.Entry<?, ?>>(map.entrySet());
        sorted.sort(Comparator.comparing(e -> String.valueOf(e.getKey())));
        return sorted;
    }

    private static void quote(StringBuilder out, String s) {
        out.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) { // a lone surrogate has no UTF-8
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private static final class Parser {
        private static final int DEPTH = 500;
        private final String text;
        private int at;

        Parser(String text) {
            this.text = text;
        }

        IllegalArgumentException wrong(String what) {
            return new IllegalArgumentException("not JSON: " + what + " at character " + at);
        }

        void blank() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
        }

        char peek() {
            if (at == text.length()) throw wrong("it ends");
            return text.charAt(at);
        }

        void expect(String word) {
            if (!text.startsWith(word, at)) throw wrong("want " + word);
            at += word.length();
        }

        Object value(int depth) {
            if (depth > DEPTH) throw wrong("deeper than " + DEPTH);
            blank();
            switch (peek()) {
                case '{': return object(depth);
                case '[': return array(depth);
                case '"': return string();
                case 't': expect("true"); return true;
                case 'f': expect("false"); return false;
                case 'n': expect("null"); return null;
                default: return number();
            }
        }

        Map<String, Object> object(int depth) {
            var out = new LinkedHashMap<String, Object>();
            at++;
            blank();
            if (peek() == '}') {
                at++;
                return out;
            }
            while (true) {
                blank();
                if (peek() != '"') throw wrong("want a name in quotes");
                String name = string();
                blank();
                expect(":");
                out.put(name, value(depth + 1));
                blank();
                if (peek() == '}') {
                    at++;
                    return Collections.unmodifiableMap(out);
                }
                expect(",");
            }
        }

        List<Object> array(int depth) {
            var out = new ArrayList<>();
            at++;
            blank();
            if (peek() == ']') {
                at++;
                return out;
            }
            while (true) {
                out.add(value(depth + 1));
                blank();
                if (peek() == ']') {
                    at++;
                    return Collections.unmodifiableList(out);
                }
                expect(",");
            }
        }

        String string() {
            var out = new StringBuilder();
            for (at++; ; at++) {
                char c = peek();
                if (c == '"') {
                    at++;
                    return out.toString();
                }
                if (c < ' ') throw wrong("a control character");
                if (c != '\\') {
                    out.append(c);
                    continue;
                }
                at++;
                int plain = "\"\\/bfnrt".indexOf(peek());
                if (plain >= 0) {
                    out.append("\"\\/\b\f\n\r\t".charAt(plain));
                } else if (peek() == 'u' && text.length() - at > 4 && text.substring(at + 1, at + 5).matches("[0-9a-fA-F]{4}")) {
                    out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                } else {
                    throw wrong("an unknown escape");
                }
            }
        }

        Number number() {
            int begin = at;
            if (peek() == '-') at++;
            int first = at;
            digits();
            if (text.charAt(first) == '0' && at > first + 1) throw wrong("a number that begins with 0");
            boolean whole = true;
            if (at < text.length() && text.charAt(at) == '.') {
                whole = false;
                at++;
                digits();
            }
            if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
                whole = false;
                at++;
                if (peek() == '+' || peek() == '-') at++;
                digits();
            }
            String n = text.substring(begin, at);
            if (whole && n.length() < 19) return Long.parseLong(n);
            try {
                var d = new BigDecimal(n);
                return whole && d.abs().compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) <= 0 ? (Number) d.longValueExact() : d;
            } catch (NumberFormatException tooLarge) {
                throw wrong("a number that is too large");
            }
        }

        void digits() {
            int begin = at;
            while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
            if (at == begin) throw wrong("want a digit");
        }
    }
}
