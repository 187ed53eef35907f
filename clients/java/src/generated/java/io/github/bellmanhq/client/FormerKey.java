// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * FormerKey, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param field api_v3_key, alipay_public_keys or platform_keys.ID.
 * @param key Masked, or sealed:… until TIME in an export.
 */
public record FormerKey(
        String field,
        String key) implements Shape {
    static FormerKey of(Object json) {
        var r = Shape.Reader.of("FormerKey", json);
        return new FormerKey(
                r.text("field"),
                r.text("key"));
    }

    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "field", field,
                "key", key);
    }
}
