FROM node:26-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev
COPY src src
COPY sql sql
COPY schema schema
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 4000
CMD ["npm", "start"]
