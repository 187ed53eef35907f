// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Notify, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param json An object with fields of the notification. order_no, the state and the queue's fields of the channel's answer are added.
 * @param url Destination of the notification; default: the address of the merchant, or else the url of the notify queue.
 */
public record Notify(
        Object json,
        String url) implements Shape {
    static Notify of(Object json) {
        var r = Shape.Reader.of("Notify", json);
        return new Notify(
                r.any("json"),
                r.text("url"));
    }

    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "json", json,
                "url", url);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a Notify has. It is of one thread. */
    public static final class Builder {
        private Object json;
        private String url;

        private Builder() {
        }

        /** An object with fields of the notification. order_no, the state and the queue's fields of the channel's answer are added. */
        public Builder json(Object json) {
            this.json = json;
            return this;
        }

        /** Destination of the notification; default: the address of the merchant, or else the url of the notify queue. */
        public Builder url(String url) {
            this.url = url;
            return this;
        }

        public Notify build() {
            return new Notify(json, url);
        }
    }
}
