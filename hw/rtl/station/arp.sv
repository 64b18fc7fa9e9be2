// Answers ARP requests for its address, asks for others' addresses on command, announces its own (RFC 826, RFC 5227). Keeps no table.
// Every question ends with an answer or, after the retries, without.
module arp
  import neighbour_pkg::*;
  import roce_pkg::eth_t;
  import roce_pkg::ETHERTYPE_IPV4;
(
    input logic clk,
    input logic rst,

    // Registers
    input logic               enabled_i,
    input logic        [47:0] local_mac_i,
    input logic        [31:0] local_ip_i,
    input tag_t               tag_i,        // of announcements
    input logic        [15:0] timeout_i,    // of a request, in ticks, at least
    input logic        [ 3:0] retries_i,

    input logic tick_i,     // pulse a millisecond
    input logic announce_i, // pulse: twice, ANNOUNCE_TICKS apart

    // Frames without FCS and VLAN tag. Never stalled
    input  logic [63:0] s_axis_tdata,
    input  logic [ 7:0] s_axis_tkeep,
    input  logic        s_axis_tlast,
    input  tag_t        s_axis_tuser,
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,

    // Questions, one at a time, and how they ended, in their order
    input  resolve_t  s_axis_resolve_tdata,
    input  logic      s_axis_resolve_tvalid,
    output logic      s_axis_resolve_tready,
    output resolved_t m_axis_resolved_tdata,
    output logic      m_axis_resolved_tvalid,
    input  logic      m_axis_resolved_tready,

    output logic [63:0] m_axis_tdata,
    output logic [ 7:0] m_axis_tkeep,
    output logic        m_axis_tlast,
    output tag_t        m_axis_tuser,
    output logic        m_axis_tvalid,
    input  logic        m_axis_tready,

    output arp_events_t        events_o,
    output logic        [47:0] conflict_mac_o  // of the last one that used our address
);

  localparam int unsigned ANSWERS = 4;  // that wait to be sent
  localparam int unsigned HEAD_BEATS = (ARP_BYTES + 7) / 8;
  localparam int unsigned BEATS = (FRAME_BYTES_MIN + 7) / 8;
  localparam int unsigned BEAT_W = $clog2(BEATS);

  // What came
  logic ended, ours, well_formed, is_request, is_reply, conflict, for_us;
  logic [64*HEAD_BEATS-1:0] head;
  logic [10:0] length;
  eth_t eth;
  arp_t packet;
  tag_t tag;

  frame_head #(
      .Beats(HEAD_BEATS),
      .UserW($bits(tag_t))
  ) u_head (
      .clk,
      .rst,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .s_axis_tready,
      .ended_o (ended),
      .head_o  (head),
      .length_o(length),
      .user_o  (tag)
  );

  assign {eth, packet} = head[64*HEAD_BEATS-1-:8*ARP_BYTES];
  assign is_request = packet.operation == ARP_REQUEST;
  assign is_reply = packet.operation == ARP_REPLY;
  assign well_formed = length >= 11'(ARP_BYTES) && eth.ethertype == ETHERTYPE_ARP && packet.hardware == ARP_ETHERNET &&
      packet.protocol == ETHERTYPE_IPV4 && packet.hardware_bytes == 8'd6 && packet.protocol_bytes == 8'd4 &&
      (is_request || is_reply) && !packet.sender_mac[40] && packet.sender_mac != '0;
  assign ours = packet.sender_mac == local_mac_i;  // heard again
  assign conflict = packet.sender_ip == local_ip_i;
  assign for_us = packet.target_ip == local_ip_i;

  typedef enum logic [1:0] {
    IDLE,  // waits for a question
    ASK,   // waits for the answer
    TELL   // waits until the result is taken
  } state_e;

  state_e state_q;
  resolve_t wanted_q;
  resolved_t result_q;
  logic [15:0] timer_q;
  logic [3:0] retries_q;
  logic heard, request, answer, expected, timed_out;

  assign heard = ended && enabled_i && well_formed && !ours && !conflict;
  assign request = heard && is_request && for_us;
  assign expected = state_q == ASK && packet.sender_ip == wanted_q.ip && for_us &&
      vlan_id(tag) == vlan_id(wanted_q.tag);
  assign answer = heard && is_reply && expected;
  assign timed_out = state_q == ASK && tick_i && timer_q == '0;

  always_ff @(posedge clk) begin
    unique case (state_q)
      IDLE: begin
        wanted_q  <= s_axis_resolve_tdata;
        retries_q <= retries_i;
        timer_q   <= timeout_i;
        if (s_axis_resolve_tvalid) state_q <= ASK;
      end
      ASK: begin
        result_q <= '{found: answer, ip: wanted_q.ip, mac: answer ? packet.sender_mac : '0};
        if (tick_i) timer_q <= timer_q - 1'b1;
        if (timed_out) begin
          retries_q <= retries_q - 1'b1;
          timer_q   <= timeout_i;
        end
        if (answer || !enabled_i || (timed_out && retries_q == '0)) state_q <= TELL;
      end
      default: if (m_axis_resolved_tready) state_q <= IDLE;
    endcase
    if (rst) state_q <= IDLE;
  end

  assign s_axis_resolve_tready  = state_q == IDLE;
  assign m_axis_resolved_tvalid = state_q == TELL;
  assign m_axis_resolved_tdata  = result_q;

  // What is to be sent. Questions, announcements and defences are few and go first; answers wait in a queue.
  typedef struct packed {
    tag_t        tag;
    logic        reply;
    logic [47:0] mac;    // that the frame goes to
    logic [31:0] ip;
  } job_t;

  job_t answer_job, job, job_q;
  logic answers_ready, answer_valid, free, take, take_answer, sending_q, last, ready;
  logic ask_q, announce_q, defend_q;
  logic [$clog2(ANNOUNCE_TICKS+1)-1:0] again_q;  // ticks to the second announcement
  logic [$clog2(DEFEND_TICKS+1)-1:0] quiet_q;  // ticks in which no conflict is answered
  tag_t defend_tag_q;

  axis_fifo #(
      .DataW($bits(job_t)),
      .Depth(ANSWERS)
  ) u_answers (
      .clk,
      .rst,
      .s_axis_tdata ({tag, 1'b1, packet.sender_mac, packet.sender_ip}),
      .s_axis_tvalid(request),
      .s_axis_tready(answers_ready),
      .m_axis_tdata (answer_job),
      .m_axis_tvalid(answer_valid),
      .m_axis_tready(take_answer)
  );

  always_comb begin
    job = '{tag: tag_i, reply: 1'b0, mac: MAC_BROADCAST, ip: local_ip_i};
    if (ask_q) begin
      job.tag = wanted_q.tag;
      job.ip  = wanted_q.ip;
    end else if (defend_q) job.tag = defend_tag_q;
    else if (!announce_q) job = answer_job;
  end

  assign free = !sending_q || (last && ready);
  assign take = free && (ask_q || defend_q || announce_q || answer_valid);
  assign take_answer = free && !(ask_q || defend_q || announce_q);

  always_ff @(posedge clk) begin
    if (take) begin
      if (ask_q) ask_q <= 1'b0;
      else if (defend_q) defend_q <= 1'b0;
      else announce_q <= 1'b0;
    end
    if (tick_i && again_q != '0) begin
      again_q <= again_q - 1'b1;
      if (again_q == 1) announce_q <= 1'b1;
    end
    if (tick_i && quiet_q != '0) quiet_q <= quiet_q - 1'b1;
    if (announce_i) begin
      announce_q <= 1'b1;
      again_q <= $bits(again_q)'(ANNOUNCE_TICKS);
    end
    if (events_o.conflict && quiet_q == '0) begin
      defend_q <= 1'b1;
      defend_tag_q <= tag;
      quiet_q <= $bits(quiet_q)'(DEFEND_TICKS);
    end
    if ((state_q == IDLE && s_axis_resolve_tvalid) || (timed_out && retries_q != '0)) ask_q <= 1'b1;
    if (state_q == TELL) ask_q <= 1'b0;  // no more of use
    if (rst || !enabled_i) begin
      ask_q <= 1'b0;
      announce_q <= 1'b0;
      defend_q <= 1'b0;
      again_q <= '0;
      quiet_q <= '0;
    end
  end

  // A frame on its way
  eth_t eth_out;
  arp_t packet_out;
  logic [64*BEATS-1:0] bytes;  // first byte on the left
  logic [BEATS-1:0][63:0] lanes;
  logic [BEAT_W-1:0] beat_q;

  assign eth_out = '{dst: job_q.mac, src: local_mac_i, ethertype: ETHERTYPE_ARP};
  assign packet_out = '{
          hardware: ARP_ETHERNET,
          protocol: ETHERTYPE_IPV4,
          hardware_bytes: 8'd6,
          protocol_bytes: 8'd4,
          operation: job_q.reply ? ARP_REPLY : ARP_REQUEST,
          sender_mac: local_mac_i,
          sender_ip: local_ip_i,
          target_mac: job_q.reply ? job_q.mac : '0,
          target_ip: job_q.ip
      };
  assign bytes = {eth_out, packet_out, {64 * BEATS - 8 * ARP_BYTES{1'b0}}};

  always_comb begin
    for (int unsigned k = 0; k < 8 * BEATS; k++) lanes[k/8][8*(k%8)+:8] = bytes[64*BEATS-8*(k+1)+:8];
  end

  assign last = beat_q == BEAT_W'(BEATS - 1);

  always_ff @(posedge clk) begin
    if (sending_q && ready) begin
      beat_q <= beat_q + 1'b1;
      if (last) sending_q <= 1'b0;
    end
    if (take) begin
      sending_q <= 1'b1;
      beat_q <= '0;
      job_q <= job;
    end
    if (rst) sending_q <= 1'b0;
  end

  axis_reg #(
      .DataW($bits(tag_t) + 1 + 8 + 64)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({job_q.tag, last, last ? 8'hff >> (8 * BEATS - FRAME_BYTES_MIN) : 8'hff, lanes[beat_q]}),
      .s_axis_tvalid(sending_q),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  assign events_o = '{
          malformed: ended && enabled_i && !well_formed,
          stray: heard && is_reply && !expected,
          conflict: ended && enabled_i && well_formed && !ours && conflict,
          unresolved: state_q == TELL && m_axis_resolved_tready && !result_q.found,
          resolved: state_q == TELL && m_axis_resolved_tready && result_q.found,
          lost: request && !answers_ready,
          answered: request && answers_ready
      };

  always_ff @(posedge clk) begin
    if (events_o.conflict) conflict_mac_o <= packet.sender_mac;
    if (rst) conflict_mac_o <= '0;
  end

  logic unused;
  assign unused = ^{head, eth, packet};

endmodule
