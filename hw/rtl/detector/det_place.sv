// Gives every packet its place: the slot of its frame, its module's part of it, its own part of that. Memory is what brings packets
// into order. Two frames of a module may be under way, the newest and the one before, each with a bit for every packet that was
// placed; a frame is over when all are there, when one comes that is two ahead, or when nothing has come for a time.
// No packet is placed twice, none of a frame that is over, and none of a frame for which there was no credit with its first packet.
// One packet after the other: five cycles from its head to where it goes; what it changes, it changes when it was whole to its end.
module det_place
  import det_pkg::*;
#(
    parameter int unsigned Modules     = 8,
    parameter int unsigned Packets     = 128,   // of a module's frame
    parameter int unsigned PacketBytes = 8192,
    parameter int unsigned FrameW      = 64,    // bits of the detector's frame number
    parameter int unsigned TimeUnit    = 100,   // ns
    parameter int unsigned StampW      = 16     // bits of the time in ticks
) (
    input logic clk,
    input logic rst,

    input target_t             target_i,
    input logic [        63:0] window_end_i,  // credit: frame n may begin only if n < window_end
    input logic [  StampW-1:0] timeout_i,     // ticks until a frame of which nothing comes is over
    input logic                tick_i,        // pulse
    input logic                flush_i,       // all frames are over

    // Packets by their heads; whether each was bad at its end
    input  head_t s_axis_head_tdata,
    input  logic  s_axis_head_tvalid,
    output logic  s_axis_head_tready,
    input  logic  s_axis_tail_tdata,
    input  logic  s_axis_tail_tvalid,
    output logic  s_axis_tail_tready,

    // What is done, and with an end the frame that is over
    output item_t m_axis_item_tdata,
    output end_t  m_axis_item_tuser,
    output logic  m_axis_item_tvalid,
    input  logic  m_axis_item_tready,

    output det_fate_e fate_o,
    output logic      fate_valid_o,  // pulse
    output logic      idle_o         // no frame is under way, and no packet
);

  localparam int unsigned MODULE_W = Modules > 1 ? $clog2(Modules) : 1;
  localparam int unsigned PACKET_W = Packets > 1 ? $clog2(Packets) : 1;
  localparam int unsigned UNIT_W = $clog2(TimeUnit + 1);
  localparam int unsigned UNIT_AT_W = UNIT_W > 1 ? $clog2(UNIT_W) : 1;

  if (Packets < 1 || Packets > 256 || Modules < 1 || Modules > 16) begin : gen_check
    $error("%m: Packets = %0d must be 1 to 256, Modules = %0d 1 to 16", Packets, Modules);
  end

  typedef logic [MODULE_W-1:0] module_t;
  typedef logic [MODULE_W:0] entry_t;  // {module, lowest bit of the frame's number}

  typedef enum logic [1:0] {
    FREE = 2'd0,     // nothing of it has come
    OPEN = 2'd1,
    OVER = 2'd2,
    DROPPED = 2'd3   // there was no credit
  } frame_state_e;

  typedef enum logic [3:0] {
    IDLE,      // takes a head, or ends a frame that is due
    DIFFER,    // how far its frame is ahead of the module's newest
    JUDGE,
    DECIDE,
    ADDRESS,
    PUT,       // hands out what is done
    TAIL,      // waits for its end
    EVICT,     // ends the frame before the newest, where a newer one begins
    EVICT2,    // and the newest, where one between is left out
    COMMIT,
    FULL,      // ends a frame of which all is there
    HOLES,     // hands out that its place becomes holes
    END_READ,  // an end: what is known of the frame
    END_TIME,  // its time in ns, bit by bit
    END_PLACE,
    END_PUT
  } state_e;

  state_e state_q, state_d, back_q;

  // Frames of each module
  frame_state_e [2*Modules-1:0] frames_q;
  logic [Modules-1:0] known_q;  // a frame of the module has come
  logic [2*Modules-1:0][1:0] owned_q;  // of the entry: the identity on each port is known
  logic [63:0] newest_memory[Modules];
  logic [63:0] dropped_memory[Modules];
  logic [Packets-1:0] bits_memory[2*Modules];
  logic [8:0] count_memory[2*Modules];  // of those bits
  logic [63:0] time_memory[2*Modules];
  logic [63:0] bunch_memory[2*Modules];
  logic [63:0] identity_memory[4*Modules];
  logic [StampW-1:0] stamp_memory[2*Modules];

  head_t head;
  module_t whose;
  entry_t entry_q, due_q, end_entry_q;
  logic [63:0] relative_q, newest_q, ahead_q, room_q, number_q, base_q, module_base_q, address_q, identity_q, dropped_q;
  logic [63:0] end_number_q, end_frame_q, end_time_q, end_unit_time_q, end_bunch_q;
  logic [Packets-1:0] bits_q, end_bits_q;
  logic [8:0] count_q, end_count_q;
  logic [35:0] product_q;
  logic [15:0] slot_mask, slot_q, end_slot_q;
  logic [PACKET_W-1:0] packet;
  logic [UNIT_AT_W-1:0] unit_at_q;
  logic [StampW-1:0] now_q;
  logic due_valid_q, was_owned_q;

  assign head = s_axis_head_tdata;
  assign whose = head.module_number[MODULE_W-1:0];
  assign packet = head.packet[PACKET_W-1:0];
  assign slot_mask = ~(16'hffff << target_i.slots_log2);

  function automatic logic [63:0] extended(input logic [63:0] number);
    if (FrameW < 64) extended = {{(64 - FrameW) {number[FrameW-1]}}, number[FrameW-1:0]};
    else extended = number;
  endfunction

  // What becomes of the packet that is looked at, if it is whole
  logic same_q, before_q, next_q, newer_q, far_q, credit_q, seen_q, foreign_q;
  frame_state_e mine_q;
  det_fate_e fate, verdict_q;
  logic places, drops, opens;

  always_comb begin
    if (number_q[63]) fate = FATE_LATE;
    else if (far_q) fate = FATE_NUMBER;
    else if (!(same_q || before_q || newer_q) || mine_q == OVER) fate = FATE_LATE;
    else if (mine_q == DROPPED || (mine_q == FREE && !credit_q)) fate = FATE_CREDIT;
    else if (mine_q == OPEN && foreign_q) fate = FATE_FOREIGN;
    else if (mine_q == OPEN && seen_q) fate = FATE_DUPLICATE;
    else fate = FATE_PLACED;
  end

  assign places = verdict_q == FATE_PLACED;
  assign drops  = verdict_q == FATE_CREDIT && mine_q == FREE;
  assign opens  = mine_q == FREE && (places || drops);

  // Frames of which nothing has come for a time, looked at one after the other. One that is due waits here.
  entry_t scan_q;
  logic [StampW-1:0] age;
  logic due;

  assign age = now_q - stamp_memory[scan_q];
  assign due = due_valid_q && frames_q[due_q] == OPEN;

  always_ff @(posedge clk) begin
    now_q <= now_q + StampW'(tick_i);
    if (!due) begin
      scan_q <= scan_q == entry_t'(2 * Modules - 1) ? '0 : scan_q + 1'b1;
      due_q <= scan_q;
      due_valid_q <= frames_q[scan_q] == OPEN && (flush_i || age >= timeout_i) && state_q == IDLE;
    end
    if (state_q != IDLE) due_valid_q <= 1'b0;
    if (rst) begin
      now_q  <= '0;
      scan_q <= '0;
      due_valid_q <= 1'b0;
    end
  end

  // The order of things
  logic evicts, evicts2, full_q;
  entry_t older, newest_entry;

  assign newest_entry = {whose, newest_q[0]};
  assign older = {whose, !newest_q[0]};
  assign evicts = newer_q && known_q[whose] && frames_q[older] == OPEN;
  assign evicts2 = newer_q && !next_q && known_q[whose] && frames_q[newest_entry] == OPEN;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:      state_d = s_axis_head_tvalid ? DIFFER : due ? END_READ : IDLE;
      DIFFER:    state_d = JUDGE;
      JUDGE:     state_d = DECIDE;
      DECIDE:    state_d = ADDRESS;
      ADDRESS:   state_d = PUT;
      PUT:       if (m_axis_item_tready) state_d = TAIL;
      TAIL:
      if (s_axis_tail_tvalid) begin
        if (s_axis_tail_tdata) state_d = places ? HOLES : IDLE;
        else state_d = opens && newer_q ? EVICT : places || opens ? COMMIT : IDLE;
      end
      EVICT:     state_d = evicts ? END_READ : EVICT2;
      EVICT2:    state_d = evicts2 ? END_READ : COMMIT;
      COMMIT:    state_d = FULL;
      FULL:      state_d = full_q ? END_READ : IDLE;
      HOLES:     if (m_axis_item_tready) state_d = IDLE;
      END_READ:  state_d = END_TIME;
      END_TIME:  if (unit_at_q == '0) state_d = END_PLACE;
      END_PLACE: state_d = END_PUT;
      END_PUT:   if (m_axis_item_tready) state_d = back_q;
      default:   state_d = IDLE;
    endcase
  end

  // A packet is done when its end was looked at and all it changes is written
  logic taken, ended_q;
  assign s_axis_tail_tready = state_q == TAIL;
  assign taken = state_q != IDLE && state_d == IDLE && (state_q != END_PUT || ended_q);
  assign s_axis_head_tready = taken;

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (state_q == EVICT) back_q <= EVICT2;
    if (state_q == EVICT2) back_q <= COMMIT;
    if (state_q == FULL || state_q == IDLE) back_q <= IDLE;
    ended_q <= state_q == FULL || (ended_q && state_q != IDLE);  // an end because all is there, not because of time
    if (state_q == EVICT) end_entry_q <= older;
    if (state_q == EVICT2) end_entry_q <= newest_entry;
    if (state_q == COMMIT) end_entry_q <= entry_q;
    if (state_q == IDLE) end_entry_q <= due_q;
    if (rst) begin
      state_q <= IDLE;
      ended_q <= 1'b0;
    end
  end

  // The detector's number of frame 0: as it is said, or that of the first packet that is placed
  logic [63:0] first, first_q;
  logic learned_q;

  assign first = !target_i.learn ? target_i.first : learned_q ? first_q : head.number;

  always_ff @(posedge clk) begin
    if (state_q == COMMIT && !learned_q) begin
      first_q   <= head.number;
      learned_q <= 1'b1;
    end
    if (rst) learned_q <= 1'b0;
  end

  // The packet: stage by stage
  always_ff @(posedge clk) begin
    if (state_q == IDLE) begin
      // Without a head the module is that of a frame that is due
      newest_q <= newest_memory[s_axis_head_tvalid ? whose : due_q[MODULE_W:1]];
      if (s_axis_head_tvalid && !known_q[whose]) newest_q <= '1;
      relative_q <= head.number - first;
      entry_q <= {whose, head.number[0] ^ first[0]};
    end
    // What is read here in every cycle counts from DIFFER on, while the head waits
    ahead_q <= extended(relative_q - newest_q);
    room_q <= window_end_i - newest_q;
    bits_q <= bits_memory[entry_q];
    count_q <= count_memory[entry_q];
    identity_q <= identity_memory[{entry_q, head.port}];
    was_owned_q <= owned_q[entry_q][head.port];
    module_base_q <= target_i.base + 64'(whose) * 64'(Packets * PacketBytes);
    base_q <= module_base_q + 64'(packet) * 64'(PacketBytes);
    if (state_q == JUDGE) begin
      number_q  <= newest_q + ahead_q;
      same_q    <= ahead_q == '0;
      before_q  <= ahead_q == '1;
      next_q    <= ahead_q == 64'd1;
      newer_q   <= !ahead_q[63] && ahead_q != '0;
      far_q     <= !ahead_q[63] && ahead_q > 64'(target_i.reach);
      credit_q  <= window_end_i == '1 || (!room_q[63] && (ahead_q[63] || ahead_q < room_q));
      seen_q    <= bits_q[packet];
      foreign_q <= was_owned_q && identity_q != head.identity;
      mine_q    <= ahead_q == '0 || ahead_q == '1 ? frames_q[entry_q] : FREE;
      slot_q    <= (newest_q[15:0] + ahead_q[15:0]) & slot_mask;
    end
    if (state_q == DECIDE) verdict_q <= fate;
    if (state_q == ADDRESS) address_q <= base_q + {16'd0, product_q, 12'd0};

    // Of an end the same, from its own number
    if (state_q == END_PLACE) address_q <= target_i.base + {16'd0, product_q, 12'd0};
    if (state_q == COMMIT && newer_q) newest_q <= number_q;
    product_q <= (state_q == DECIDE ? 36'(slot_q) : 36'(end_slot_q)) * 36'(target_i.slot_bytes[31:12]);
  end

  always_ff @(posedge clk) begin
    fate_o <= s_axis_tail_tdata ? FATE_BAD : verdict_q;
    fate_valid_o <= state_q == TAIL && s_axis_tail_tvalid;
    if (rst) fate_valid_o <= 1'b0;
  end

  // What is written when a packet was whole
  logic [Packets-1:0] bits;
  logic [63:0] end_number;
  assign bits = (mine_q == OPEN ? bits_q : '0) | (places ? Packets'(1) << packet : '0);
  assign end_number = newest_q - 64'(newest_q[0] != end_entry_q[0]);

  always_ff @(posedge clk) begin
    full_q <= state_q == COMMIT && places && bits == '1;
    if (state_q == COMMIT) begin
      if (newer_q) begin
        newest_memory[whose] <= number_q;
        known_q[whose] <= 1'b1;
        if (!next_q || !known_q[whose]) frames_q[{whose, !entry_q[0]}] <= FREE;
      end
      if (drops) dropped_memory[whose] <= known_q[whose] ? dropped_q + 1'b1 : 64'd1;
      else if (!known_q[whose]) dropped_memory[whose] <= '0;
      if (opens) begin
        frames_q[entry_q] <= places ? OPEN : DROPPED;
        owned_q[entry_q] <= '0;
      end
      if (places) begin
        bits_memory[entry_q] <= bits;
        count_memory[entry_q] <= (mine_q == OPEN ? count_q : '0) + 1'b1;
        stamp_memory[entry_q] <= now_q;
        owned_q[entry_q][head.port] <= 1'b1;
        identity_memory[{entry_q, head.port}] <= head.identity;
      end
      if (opens) begin
        time_memory[entry_q]  <= head.timestamp;
        bunch_memory[entry_q] <= head.bunch_id;
      end
    end
    dropped_q <= dropped_memory[whose];
    if (state_q == END_PUT && m_axis_item_tready) frames_q[end_entry_q] <= OVER;
    if (rst) begin
      frames_q <= {2 * Modules{FREE}};
      known_q  <= '0;
    end
  end

  // An end
  logic [63:0] end_dropped_q;

  always_ff @(posedge clk) begin
    // So these, from END_READ on
    end_number_q <= end_number;
    end_slot_q <= end_number[15:0] & slot_mask;
    end_bits_q <= bits_memory[end_entry_q];
    end_count_q <= count_memory[end_entry_q];
    end_unit_time_q <= time_memory[end_entry_q];
    end_bunch_q <= bunch_memory[end_entry_q];
    end_dropped_q <= dropped_memory[end_entry_q[MODULE_W:1]];
    if (state_q == END_READ) begin
      end_time_q <= '0;
      unit_at_q <= UNIT_AT_W'(UNIT_W - 1);
    end
    if (state_q == END_TIME) begin
      end_time_q <= (end_time_q << 1) + (((TimeUnit >> unit_at_q) & 1) != 0 ? end_unit_time_q : '0);
      unit_at_q <= unit_at_q - 1'b1;
      end_frame_q <= end_number_q + first;
    end
  end

  // What is handed out
  always_comb begin
    m_axis_item_tdata.kind = places ? ITEM_PIXELS : ITEM_DROP;
    if (state_q == HOLES) m_axis_item_tdata.kind = ITEM_HOLES;
    if (state_q == END_PUT) m_axis_item_tdata.kind = ITEM_END;
    m_axis_item_tdata.address = address_q;
    m_axis_item_tuser = '{
        mask: 256'(end_bits_q),
        packets: 16'(end_count_q),
        frames_dropped: end_dropped_q,
        detector_frame: FrameW < 64 ? end_frame_q & ((64'd1 << (FrameW % 64)) - 64'd1) : end_frame_q,
        bunch_id: end_bunch_q,
        timestamp_ns: end_time_q,
        frame_number: end_number_q,
        slot: end_slot_q,
        module_number: 8'(end_entry_q[MODULE_W:1])
    };
  end

  assign m_axis_item_tvalid = state_q == PUT || state_q == HOLES || state_q == END_PUT;

  logic any_open;
  always_comb begin
    any_open = 1'b0;
    for (int unsigned e = 0; e < 2 * Modules; e++) any_open = any_open | (frames_q[e] == OPEN);
  end
  assign idle_o = state_q == IDLE && !s_axis_head_tvalid && !any_open;

  logic unused;
  assign unused = ^{head, target_i};

endmodule
