"""Sixty diagrams as models write them, separated by lines of ``====``."""

from __future__ import annotations

_TEXT = """\
flowchart TD
  A[Start] --> B{Valid?}
  B -->|yes| C[Store]
  B -->|no| D[Reject]
====
graph LR
  Client --> API --> DB[(Database)]
====
graph TD; A-->B; A-->C; B-->D; C-->D
====
flowchart TD
  A([Begin]) --> B[/Input/]
  B --> C{{Check}}
  C --> D((End))
====
flowchart LR
  A -- text --> B
  B -.-> C
  C ==> D
====
flowchart BT
  leaf --> branch --> root
====
flowchart RL
  right --> middle --> left
====
flowchart TD
  A --> B
  B --> A
====
flowchart TD
  A --> A
====
flowchart TD
  subgraph Frontend
    UI --> Store
  end
  subgraph Backend
    API --> DB
  end
  Store --> API
====
flowchart LR
  subgraph one
    a1 --> a2
  end
  a2 --> b1
====
flowchart TD
  A["A label with (brackets)"] --> B["and one: with punctuation!"]
====
flowchart TD
  A[日本語] --> B[中文标签]
====
flowchart TD
  A[Ünïcode ✓] --> B[🙂 emoji]
====
flowchart TD
  A[line one<br/>line two] --> B[next]
====
flowchart TD
  request --> auth --> limit --> route --> handler --> response
====
flowchart TD
  root --> a & b & c
====
flowchart TD
  a & b --> c & d
====
flowchart TD
  A -->|a rather long label on the edge| B
====
flowchart TD
  %% a comment
  A --> B
  style A fill:#f9f
  classDef red fill:#f00
  class B red
====
flowchart TD
  A[Parse] --> B[Plan]
  B --> C[Edit]
  C --> D{Tests pass?}
  D -->|no| C
  D -->|yes| E[Commit]
  E --> F[Push]
====
graph TD
  main --> dev
  dev --> feature1
  dev --> feature2
  feature1 --> dev2[dev]
  feature2 --> dev2
  dev2 --> release
====
flowchart LR
  A[a node with a label that is much too long for a narrow window of a terminal] --> B
====
flowchart TD
  A --- B
  B --o C
  C --x D
====
flowchart TD
  a[1] --> b[2] --> c[3]
  a --> c
  a --> d[4] --> c
====
flowchart TD
  A[x] --> B
  C[alone]
====
stateDiagram-v2
  [*] --> Idle
  Idle --> Running : start
  Running --> Idle : stop
  Running --> [*]
====
stateDiagram-v2
  [*] --> Open
  Open --> Closed
  Closed --> Open
====
stateDiagram
  A --> B
  B --> C
  C --> A
====
stateDiagram-v2
  state "Waiting for input" as W
  [*] --> W
  W --> Done
====
stateDiagram-v2
  direction LR
  Red --> Green
  Green --> Yellow
  Yellow --> Red
====
stateDiagram-v2
  [*] --> Draft
  Draft --> Review : submit
  Review --> Draft : reject
  Review --> Published : accept
  Published --> [*]
====
stateDiagram-v2
  state choice <<choice>>
  [*] --> choice
  choice --> Yes : if true
  choice --> No : if false
====
stateDiagram-v2
  Connecting --> Connected
  Connected --> Disconnected : timeout
  Disconnected --> Connecting : retry
  note right of Connected : alive
====
classDiagram
  Animal <|-- Dog
  Animal <|-- Cat
====
classDiagram
  class Animal {
    +String name
    +int age
    +speak() void
  }
====
classDiagram
  class Shape {
    <<interface>>
    area() float
  }
  Shape <|.. Circle
  Shape <|.. Square
====
classDiagram
  Car *-- Engine
  Car o-- Driver
====
classDiagram
  Order "1" --> "many" Item : contains
====
classDiagram
  class List~T~ {
    +add(T item)
    +get(int i) T
  }
====
classDiagram
  A --> B : uses
  B ..> C : depends
====
classDiagram
  class Session {
    -log: SessionLog
    +prompt(text)
    +abort()
  }
  class Agent {
    +run()
  }
  Session --> Agent
====
classDiagram
  direction LR
  Left --> Right
====
erDiagram
  CUSTOMER ||--o{ ORDER : places
====
erDiagram
  ORDER ||--|{ LINE_ITEM : contains
  PRODUCT ||--o{ LINE_ITEM : "is in"
====
erDiagram
  USER {
    int id PK
    string name
    string email
  }
====
erDiagram
  USER ||--o{ POST : writes
  POST ||--o{ COMMENT : has
  USER ||--o{ COMMENT : writes
====
erDiagram
  A |o--o| B : maybe
====
erDiagram
  TEAM {
    int id
  }
  MEMBER {
    int id
    int team_id FK
  }
  TEAM ||--|{ MEMBER : has
====
sequenceDiagram
  Alice->>Bob: Hello
  Bob-->>Alice: Hi
====
sequenceDiagram
  participant U as User
  participant S as Server
  U->>S: GET /
  S-->>U: 200 OK
====
sequenceDiagram
  Client->>API: request
  API->>DB: query
  DB-->>API: rows
  API-->>Client: response
====
sequenceDiagram
  A->>A: think
  A->>B: done
====
sequenceDiagram
  loop every minute
    A->>B: ping
    B-->>A: pong
  end
====
sequenceDiagram
  A->>B: ask
  alt found
    B-->>A: value
  else missing
    B-->>A: error
  end
====
sequenceDiagram
  Note over A,B: a handshake
  A->>B: SYN
  B->>A: SYN-ACK
  A->>B: ACK
====
sequenceDiagram
  autonumber
  A->>B: one
  B->>C: two
  C-->>A: three
====
pie title Pets
  "Dogs" : 386
  "Cats" : 85
====
gantt
  title A plan
  section Work
  Task :a1, 2026-01-01, 30d
====
flowchart TD
  A[&#27;[31mred#27;] --> B[not closed
"""

DIAGRAMS: tuple[str, ...] = tuple(_TEXT.split("====\n"))
