package io.github.bellmanhq.client;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** What the API's shapes have in common: how they are written, and how the fields of one are read. */
interface Shape {
    /** The fields in order, without those that are null. */
    Map<String, Object> asMap();

    static Map<String, Object> fields(Object... namesAndValues) {
        var out = new LinkedHashMap<String, Object>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            if (namesAndValues[i + 1] != null) out.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return out;
    }

    /** Reads the fields of an object, whatever others it has. */
    record Reader(String shape, Map<String, Object> fields) {
        @SuppressWarnings("unchecked")
        static Reader of(String shape, Object json) {
            if (json instanceof Map<?, ?> map) return new Reader(shape, (Map<String, Object>) map);
            throw new IllegalArgumentException("want a " + shape + ", which is an object");
        }

        private <T> T as(String name, Class<T> type) {
            Object v = fields.get(name);
            if (v == null || type.isInstance(v)) return type.cast(v);
            throw new IllegalArgumentException(shape + "." + name + ": want " + type.getSimpleName());
        }

        Object any(String name) {
            return fields.get(name);
        }

        String text(String name) {
            return as(name, String.class);
        }

        Boolean bool(String name) {
            return as(name, Boolean.class);
        }

        boolean bool(String name, boolean absent) {
            Boolean v = bool(name);
            return v == null ? absent : v;
        }

        long int64(String name, long absent) {
            Long v = int64(name);
            return v == null ? absent : v;
        }

        int int32(String name, int absent) {
            Integer v = int32(name);
            return v == null ? absent : v;
        }

        double number(String name, double absent) {
            Double v = number(name);
            return v == null ? absent : v;
        }

        Long int64(String name) {
            return as(name, Long.class);
        }

        Integer int32(String name) {
            Long v = int64(name);
            return v == null ? null : Integer.valueOf(Math.toIntExact(v));
        }

        Double number(String name) {
            Number v = as(name, Number.class);
            return v == null ? null : Double.valueOf(v.doubleValue());
        }

        Instant time(String name) {
            String v = text(name);
            return v == null ? null : OffsetDateTime.parse(v).toInstant();
        }

        <T> T shape(String name, Function<Object, T> read) {
            Object v = fields.get(name);
            return v == null ? null : read.apply(v);
        }

        <T> List<T> list(String name, Function<Object, T> read) {
            List<?> v = as(name, List.class);
            if (v == null) return List.of();
            var out = new ArrayList<T>();
            v.forEach(item -> out.add(read.apply(item)));
            return List.copyOf(out);
        }

        <T> Map<String, T> map(String name, Function<Object, T> read) {
            Map<?, ?> v = as(name, Map.class);
            if (v == null) return Map.of();
            var out = new LinkedHashMap<String, T>();
            v.forEach((key, item) -> out.put((String) key, read.apply(item)));
            return Collections.unmodifiableMap(out);
        }
    }
}
