// Registers of the transmitter (docs/reference/registers.md) and what is behind them: tables, counters, commands.
// Wiring, and sticky errors. Stays out of the core's reset, which it drives.
module registers
  import axi_pkg::*;
  import dcqcn_pkg::*;
  import framelane_pkg::*;
  import neighbour_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
  import tx_counters_pkg::*;
  import tx_regs_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ClockHz      = 0,
    parameter int unsigned Build        = 0,
    parameter bit          FrameStore   = 1'b0,
    parameter bit          Correct      = 1'b0,
    parameter bit          Station      = 1'b0,  // there is a receive path
    parameter bit          Rc           = 1'b0,  // and an rc_requester
    parameter int unsigned RcQps        = 16,
    parameter int unsigned RcDepth      = 64,
    parameter bit          MacPort      = 1'b0   // there is a mac_port behind it
) (
    input logic clk,
    input logic [1:0] rst,  // always equal: for the bus and its registers, for the counters

    // AXI4-Lite
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // The core
    output logic [CORE_RESETS-1:0] core_rst_o,  // always equal
    output logic armed_o,
    output logic resetting_o,
    input  logic idle_i,

    // What may stand still: how long, in 2^16 cycles, and whether it does. An abort waits for neither
    output logic [15:0] mac_limit_o,
    output logic [15:0] memory_limit_o,
    output logic        aborting_o,
    input  logic        mac_stuck_i,
    input  logic        memory_stuck_i,
    input  logic        bad_address_i,    // pulse: a read from beyond the memory
    output logic        interrupt_o,

    // This end, and the frame store
    output logic [47:0] local_mac_o,
    output logic [31:0] local_ip_o,
    output logic [63:0] store_base_o,
    output logic [31:0] store_slot_bytes_o,
    output logic [15:0] store_slots_o,
    output correction_t correction_o,
    output logic [15:0] mac_threshold_o,

    // The QP table
    output qp_write_t m_axis_qp_tdata,
    output logic      m_axis_qp_tvalid,
    input  logic      m_axis_qp_tready,

    // Entries of the tables, a cycle after their index; of one that is not there all is 0
    input  logic    [1:0][7:0] flow_index_i,          // twice, each for half of the words
    output flow_t              flow_o,
    input  logic         [7:0] destination_index_i,
    output destination_t       destination_o,

    // What is counted; cycles are in any case
    input  pulses_t pulses_i,
    input  count_t  s_axis_count_tdata,
    input  logic    s_axis_count_tvalid,
    output logic    s_axis_count_tready,

    // A frame is refused
    input logic     refusal_valid_i,
    input refusal_t refusal_i,

    // The receive path, which lives through resets of the core
    output neighbour_config_t                      neighbour_o,
    output logic                                   announce_o,              // pulse
    output resolve_t                               m_axis_resolve_tdata,
    output logic                                   m_axis_resolve_tvalid,
    input  logic                                   m_axis_resolve_tready,
    input  resolved_t                              s_axis_resolved_tdata,
    input  logic                                   s_axis_resolved_tvalid,  // always taken
    input  logic                                   link_up_i,
    input  logic                                   held_i,
    input  logic              [              47:0] conflict_mac_i,
    input  station_pulses_t                        station_pulses_i,
    input  logic              [               7:0] s_axis_cnp_tdata,        // QPs, for their counters
    input  logic                                   s_axis_cnp_tvalid,
    output logic                                   s_axis_cnp_tready,

    // RC
    output rc_limits_t         limits_o,
    output logic        [ 7:0] limits_qp_o,
    output logic               limits_write_o,          // pulse
    output rc_command_t        m_axis_command_tdata,
    output logic               m_axis_command_tvalid,
    input  logic               m_axis_command_tready,
    input  logic               command_refused_i,       // counts with tready
    output logic        [ 7:0] rc_status_qp_o,
    input  rc_status_t         rc_status_i,             // in the same cycle
    output dcqcn_t             dcqcn_o,
    output logic        [23:0] dcqcn_burst_o
);

  // From there on the registers are of the receive path. Where it is not there, that bit of an address is 0, and nothing is left
  // of them.
  localparam int unsigned STATION_BIT = 7;
  localparam int unsigned REGS_BYTES = Station ? 1 << TX_REGS_MIN_ADDR_WIDTH : 1 << STATION_BIT;
  localparam int unsigned FLOW_WORDS = $bits(flow_t) / 32;
  localparam int unsigned DESTINATION_WORDS = $bits(destination_t) / 32;
  localparam int unsigned DESTINATION_HELD = 6;  // low word of window_end
  localparam int unsigned QP_WORDS = 10;
  localparam logic [23:0] CLOCKS_PER_MS = ClockHz < 1000 ? 24'd1 : 24'(ClockHz / 1000);
  localparam int unsigned QP_LIMITS = QP_WORDS;
  localparam int unsigned QP_ALL_WORDS = Rc ? QP_WORDS + 1 : QP_WORDS;
  localparam int unsigned STATION_COUNTERS = QP_COUNTERS_FIRST + QP_COUNTERS * NumQp;

  if (TX_REGS_MIN_ADDR_WIDTH != STATION_BIT + 1) begin : gen_check_map
    $error("%m: the registers of the receive path lie elsewhere");
  end
  if (Rc && (!Station || RcQps > NumQp)) begin : gen_check_rc
    $error("%m: RC needs a receive path, and RcQps = %0d QPs", RcQps);
  end

  tx_regs__in_t  regs_in;
  tx_regs__out_t regs;

  typedef enum logic [2:0] {
    REGS,
    FLOWS,
    DESTINATIONS,
    QPS,
    COUNTS,
    STATION_COUNTS,
    NOWHERE
  } place_e;

  function automatic place_e place_of(input logic [15:0] address);
    unique case (address[15:12])
      4'h0: return address < 16'(REGS_BYTES) ? REGS : NOWHERE;
      4'h1: return FLOWS;
      4'h2, 4'h3: return DESTINATIONS;
      4'h4, 4'h5, 4'h6, 4'h7: return QPS;
      4'h8, 4'h9, 4'ha: return COUNTS;
      4'hb: return STATION_COUNTS;
      default: return NOWHERE;
    endcase
  endfunction

  // The bus. Copies of what a request is: one for all that is not in tables, two for tables; the kind also for parts of the registers.
  localparam int unsigned COPIES = 4;

  logic req, req_q, req_write, answer_q, ack_q;
  place_e place;
  logic [COPIES-1:0] req_writes;
  logic [COPIES-1:0][15:0] req_addrs;  // the whole request stays until it is answered
  logic [15:0] req_addr;
  logic [13:2] qp_addr;
  logic [12:2] table_addr;
  logic [31:0] req_data, req_mask, read_data;

  assign place = place_of(req_addr);
  assign req_write = req_writes[0];
  assign req_addr = req_addrs[0];
  assign qp_addr = req_addrs[1][13:2];
  assign table_addr = req_addrs[2][12:2];

  axil_port #(
      .Copies(COPIES)
  ) u_port (
      .clk,
      .rst    (rst[0]),
      .s_axil_i,
      .s_axil_o,
      .req_o  (req),
      .write_o(req_writes),
      .addr_o (req_addrs),
      .data_o (req_data),
      .mask_o (req_mask),
      .ack_i  (ack_q),
      .data_i (read_data)
  );

  // What a request asks for is known a cycle after it has come: to find out is a path of its own.
  logic regs_req_q, flow_write_q, destination_write_q, qp_write_req_q, whole_q;

  always_ff @(posedge clk) begin
    req_q <= req;
    regs_req_q <= req && place == REGS;
    flow_write_q <= req && req_write && place == FLOWS && req_mask == '1;
    destination_write_q <= req && req_write && place == DESTINATIONS && req_mask == '1;
    qp_write_req_q <= req && req_write && place == QPS;
    whole_q <= req_mask == '1;
    if (rst[0]) begin
      req_q <= 1'b0;
      regs_req_q <= 1'b0;
      flow_write_q <= 1'b0;
      destination_write_q <= 1'b0;
      qp_write_req_q <= 1'b0;
    end
  end

  // It answers at once, and fails no access.
  logic [5:0] unused;
  logic [31:0] regs_data;
  logic [TX_REGS_MIN_ADDR_WIDTH-1:0] regs_addr;

  always_comb begin
    regs_addr = req_addrs[3][TX_REGS_MIN_ADDR_WIDTH-1:0];
    if (!Station) regs_addr[STATION_BIT] = 1'b0;
  end

  tx_regs u_regs (
      .clk,
      .rst                 (rst[0]),
      .s_cpuif_req         (regs_req_q),
      .s_cpuif_req_is_wr   (req_writes),
      .s_cpuif_addr        (regs_addr),
      .s_cpuif_wr_data     (req_data),
      .s_cpuif_wr_biten    (req_mask),
      .s_cpuif_req_stall_wr(unused[0]),
      .s_cpuif_req_stall_rd(unused[1]),
      .s_cpuif_rd_ack      (unused[2]),
      .s_cpuif_rd_err      (unused[3]),
      .s_cpuif_rd_data     (regs_data),
      .s_cpuif_wr_ack      (unused[4]),
      .s_cpuif_wr_err      (unused[5]),
      .hwif_in             (regs_in),
      .hwif_out            (regs)
  );

  assign local_mac_o = regs.local_mac.value.value;
  assign local_ip_o = regs.local_ip.value.value;
  assign store_base_o = regs.store_base.value.value;
  assign store_slot_bytes_o = regs.store_slot_bytes.value.value;
  assign store_slots_o = regs.store_slots.value.value;
  assign mac_threshold_o = regs.mac_threshold.value.value;
  assign correction_o = '{
          offset: regs.corrected_offset.value.value,
          image_bytes: regs.constants_bytes.value.value,
          pitch: regs.constants_pitch.value.value,
          base: regs.constants_base.value.value,
          shift: {
            regs.correction.shift2.value, regs.correction.shift1.value, regs.correction.shift0.value
          },
          guard: regs.correction.guard.value,
          high_gain: regs.correction.high_gain.value,
          enabled: regs.correction.enabled.value && Correct
      };

  logic idle_q;  // it is the end of paths through the whole core

  always_ff @(posedge clk) idle_q <= idle_i && !rst[0];

  // Commands
  logic resetting, clear, counters_busy, main_busy, station_busy, qp_busy;
  logic beyond;  // an address that this memory does not have
  assign beyond = 65'(store_base_o) >> AddrW != '0 || (Correct && 65'(correction_o.base) >> AddrW != '0);
  assign resetting_o = resetting;
  assign mac_limit_o = regs.watchdog.mac.value;
  assign memory_limit_o = regs.watchdog.memory.value;

  always_ff @(posedge clk) begin
    aborting_o <= regs.command.abort.value || (aborting_o && resetting);
    if (rst[0]) aborting_o <= 1'b0;
  end

  tx_control #(
      .Copies(CORE_RESETS)
  ) u_control (
      .clk,
      .rst         (rst[0]),
      .arm_i       (regs.control.arm.value && !beyond),
      .reset_i     (regs.command.reset.value || regs.command.abort.value),
      .armed_o,
      .resetting_o (resetting),
      .idle_i      (idle_q && !qp_busy),
      .core_rst_o,
      .clear_o     (clear),
      .clear_busy_i(counters_busy)
  );

  // An access is answered two cycles after that, what it reads comes from registers behind all memories; a write to a QP waits until
  // the last one that was committed is in force.
  logic qp_asked, qp_waits_q, qp_write, qp_commits_q, qp_commit_busy;
  logic [31:0] flow_data, destination_data, qp_data, count_data, station_data;
  logic [31:0] regs_data_q, flow_data_q, destination_data_q, qp_data_q, count_data_q, station_data_q;
  logic [QP_ALL_WORDS-1:0][31:0] qp_words;
  logic [31:0] rc_data;
  logic [1:0][7:0] commit_index;  // copies, each for half of the words

  assign qp_asked = qp_waits_q || qp_write_req_q;
  assign qp_busy = qp_commits_q || qp_commit_busy;
  assign qp_write = qp_asked && whole_q && !qp_busy;

  always_ff @(posedge clk) begin
    if (req_q) regs_data_q <= regs_data;
    flow_data_q <= flow_data;
    destination_data_q <= destination_data;
    qp_data_q <= qp_data;
    count_data_q <= count_data;
    station_data_q <= station_data;
    qp_waits_q <= qp_asked && qp_busy;
    // When the table has it.
    qp_commits_q <= qp_write && qp_addr[5:2] == '0 && 9'(qp_addr[13:6]) < 9'(NumQp) && !resetting;
    answer_q <= (req_q || qp_waits_q) && !(qp_asked && qp_busy);
    ack_q <= answer_q;
    if (rst[0]) begin
      qp_waits_q <= 1'b0;
      qp_commits_q <= 1'b0;
      answer_q <= 1'b0;
      ack_q <= 1'b0;
    end
  end

  always_comb begin
    unique case (place)
      REGS: read_data = regs_data_q;
      FLOWS: read_data = flow_data_q;
      DESTINATIONS: read_data = destination_data_q;
      QPS: read_data = qp_data_q | rc_data;
      COUNTS: read_data = count_data_q;
      STATION_COUNTS: read_data = station_data_q;
      default: read_data = '0;
    endcase
  end

  config_table #(
      .Entries(Flows),
      .Words  (FLOW_WORDS),
      .Copies (2)
  ) u_flows (
      .clk,
      .write_i      (flow_write_q),
      .index_i      (8'(table_addr[11:6])),
      .word_i       (table_addr[5:2]),
      .data_i       (req_data),
      .data_o       (flow_data),
      .entry_index_i(flow_index_i),
      .entry_o      (flow_o)
  );

  config_table #(
      .Entries(Destinations),
      .Words  (DESTINATION_WORDS),
      .Held   (DESTINATION_HELD)
  ) u_destinations (
      .clk,
      .write_i      (destination_write_q),
      .index_i      (table_addr[12:5]),
      .word_i       (table_addr[4:2]),
      .data_i       (req_data),
      .data_o       (destination_data),
      .entry_index_i(destination_index_i),
      .entry_o      (destination_o)
  );

  config_table #(
      .Entries(NumQp),
      .Words  (QP_ALL_WORDS),
      .Copies (2)
  ) u_qps (
      .clk,
      .write_i      (qp_write),
      .index_i      (qp_addr[13:6]),
      .word_i       (qp_addr[5:2]),
      .data_i       (req_data),
      .data_o       (qp_data),
      .entry_index_i(commit_index),
      .entry_o      (qp_words)
  );

  qp_commit #(
      .Copies(2)
  ) u_commit (
      .clk,
      .rst     (rst[0]),
      .commit_i(qp_commits_q),
      .index_i (qp_addr[13:6]),
      .busy_o  (qp_commit_busy),
      .index_o (commit_index),
      .words_i (qp_words[QP_WORDS-1:0]),
      .m_axis_qp_tdata,
      .m_axis_qp_tvalid,
      .m_axis_qp_tready
  );

  pulses_t pulses_q, pulses;  // a cycle later: many come from far, and are the end of a long path
  station_pulses_t station_pulses_q;

  always_ff @(posedge clk) begin
    pulses_q <= pulses_i;
    station_pulses_q <= station_pulses_i;
    if (rst[1]) begin
      pulses_q <= '0;
      station_pulses_q <= '0;
    end
  end

  always_comb begin
    pulses = pulses_q;
    pulses.cycles = 1'b1;
  end

  counters #(
      .Counters(DESTINATION_COUNTERS_FIRST + DESTINATION_COUNTERS * Destinations)
  ) u_counters (
      .clk,
      .rst       (rst[1]),
      .pulse_i   (pulses),
      .s_axis_count_tdata,
      .s_axis_count_tvalid,
      .s_axis_count_tready,
      .snapshot_i(regs.command.snapshot.value),
      .clear_i   (clear),
      .busy_o    (main_busy),
      .index_i   (req_addr[13:3]),
      .high_i    (req_addr[2]),
      .data_o    (count_data)
  );

  assign counters_busy = main_busy || station_busy;

  // The receive path
  logic resolving_q, resolved_q;
  logic [47:0] resolved_mac_q;

  if (Station) begin : gen_station
    logic unused_ip;
    assign unused_ip = ^s_axis_resolved_tdata.ip;

    always_ff @(posedge clk) begin
      if (m_axis_resolve_tready) m_axis_resolve_tvalid <= 1'b0;
      if (s_axis_resolved_tvalid) begin
        resolving_q <= 1'b0;
        resolved_q <= s_axis_resolved_tdata.found;
        resolved_mac_q <= s_axis_resolved_tdata.mac;
      end
      if (regs.station_command.resolve.value && !resolving_q) begin
        m_axis_resolve_tvalid <= 1'b1;
        resolving_q <= 1'b1;
        resolved_q <= 1'b0;
        resolved_mac_q <= '0;
      end
      if (rst[0]) begin
        m_axis_resolve_tvalid <= 1'b0;
        resolving_q <= 1'b0;
        resolved_q <= 1'b0;
        resolved_mac_q <= '0;
      end
    end

    counters #(
        .Counters(STATION_COUNTERS),
        .Pulses  ($bits(station_pulses_t))
    ) u_counters (
        .clk,
        .rst                (rst[1]),
        .pulse_i            (station_pulses_q),
        .s_axis_count_tdata ('{amount: 64'd1, index: qp_counter(s_axis_cnp_tdata, QP_CNPS)}),
        .s_axis_count_tvalid(s_axis_cnp_tvalid),
        .s_axis_count_tready(s_axis_cnp_tready),
        .snapshot_i         (regs.command.snapshot.value),
        .clear_i            (clear),
        .busy_o             (station_busy),
        .index_i            (11'(req_addr[11:3])),
        .high_i             (req_addr[2]),
        .data_o             (station_data)
    );
  end else begin : gen_no_station
    assign m_axis_resolve_tvalid = 1'b0;
    assign resolving_q = 1'b0;
    assign resolved_q = 1'b0;
    assign resolved_mac_q = '0;
    assign s_axis_cnp_tready = 1'b1;
    assign station_busy = 1'b0;
    assign station_data = '0;

    logic unused_station;
    assign unused_station = ^{m_axis_resolve_tready, s_axis_resolved_tdata, s_axis_resolved_tvalid, station_pulses_q,
                              s_axis_cnp_tdata, s_axis_cnp_tvalid};
  end

  assign announce_o = Station && regs.station_command.announce.value;
  assign m_axis_resolve_tdata = '{tag: neighbour_o.tag, ip: regs.resolve_ip.value.value};
  assign neighbour_o = '{
          arp_enabled: regs.station.arp.value,
          echo_enabled: regs.station.echo.value,
          pause_honoured: regs.station.pause.value,
          data_priorities: regs.pause_priorities.data.value,
          control_priorities: regs.pause_priorities.control.value,
          quanta_per_clock: regs.pause_quanta.value.value,
          clocks_per_ms: CLOCKS_PER_MS,
          timeout_ms: regs.arp.timeout_ms.value,
          retries: regs.arp.retries.value,
          tag: '{has_vlan: regs.station.has_vlan.value, tci: regs.station.tci.value},
          ip: regs.local_ip.value.value,
          mac: regs.local_mac.value.value
      };

  // RC
  logic rc_busy, rc_refused;

  assign limits_o = rc_limits_t'(req_data);
  assign limits_qp_o = req_addr[13:6];
  assign limits_write_o = Rc && qp_write && req_addr[5:2] == 4'(QP_LIMITS);
  assign rc_status_qp_o = req_addr[13:6];
  assign dcqcn_burst_o = regs.dcqcn_burst.value.value;
  assign dcqcn_o = '{
          enabled: regs.dcqcn.enabled.value,
          line: regs.dcqcn_line.value.value,
          minimum: regs.dcqcn_minimum.value.value,
          additive: regs.dcqcn_additive.value.value,
          hyper: regs.dcqcn_hyper.value.value,
          alpha_period: regs.dcqcn_period.alpha.value,
          rise_period: regs.dcqcn_period.rise.value,
          bytes_log2: regs.dcqcn.bytes_log2.value,
          gain_log2: regs.dcqcn.gain_log2.value,
          fast_rounds: regs.dcqcn.fast_rounds.value
      };

  if (Rc) begin : gen_rc
    always_comb begin
      rc_data = '0;
      if (9'(req_addr[13:6]) < 9'(RcQps)) begin
        unique case (req_addr[5:2])
          4'(QP_LIMITS + 1): rc_data = {24'd0, rc_status_i.reason, 2'd0, rc_status_i.state};
          4'(QP_LIMITS + 2): rc_data = 32'(rc_status_i.una);
          4'(QP_LIMITS + 3): rc_data = 32'(rc_status_i.nxt);
          default: ;
        endcase
      end
    end

    logic unused_limits;  // the requester has them
    assign unused_limits = ^qp_words[QP_LIMITS];

    rc_control #(
        .RcQps(RcQps)
    ) u_rc_control (
        .clk,
        .rst          (core_rst_o[0]),
        .arm_i        (regs.rc_command.arm.value),
        .close_i      (regs.rc_command.close.value),
        .qp_i         (regs.rc_start.qp.value),
        .psn_i        (regs.rc_start.psn.value),
        .resetting_i  (resetting),
        .busy_o       (rc_busy),
        .refused_o    (rc_refused),
        .m_axis_command_tdata,
        .m_axis_command_tvalid,
        .m_axis_command_tready,
        .refused_i    (command_refused_i)
    );
  end else begin : gen_no_rc
    assign rc_data = '0;
    assign rc_busy = 1'b0;
    assign rc_refused = 1'b0;
    assign m_axis_command_tdata = '0;
    assign m_axis_command_tvalid = 1'b0;

    logic unused_rc;
    assign unused_rc = ^{m_axis_command_tready, command_refused_i, rc_status_i};
  end

  // Errors
  logic [31:0] errors, asserted, asserted_q;  // those that ask for an interrupt

  assign errors = 32'({
    regs.errors.bad_address.value, regs.errors.memory_timeout.value, regs.errors.mac_timeout.value,
    regs.errors.constant_error.value, regs.errors.mismatch.value, regs.errors.frame_bad.value,
    regs.errors.read_error.value, regs.errors.bad_payload.value, regs.errors.too_long.value,
    regs.errors.too_short.value,
    regs.errors.bad_length.value, regs.errors.bad_qp.value, regs.errors.frame_lost.value, regs.errors.refused.value,
    regs.errors.skipped.value, regs.errors.no_credit.value
  });

  assign asserted = errors & regs.interrupt_mask.value.value;

  always_ff @(posedge clk) begin
    asserted_q  <= asserted;
    interrupt_o <= asserted != '0;
    if (rst[0]) begin
      asserted_q  <= '0;
      interrupt_o <= 1'b0;
    end
  end

  logic counted, dropped_q, skipped_q;
  destination_counter_e counter;
  refusal_t refusal_q;

  assign counted = s_axis_count_tvalid && s_axis_count_tready &&
      s_axis_count_tdata.index >= 16'(DESTINATION_COUNTERS_FIRST);
  assign counter = destination_counter_e'(s_axis_count_tdata.index - 16'(DESTINATION_COUNTERS_FIRST));

  always_ff @(posedge clk) begin
    dropped_q <= counted && counter == DESTINATION_DROPPED;
    skipped_q <= counted && counter == DESTINATION_SKIPPED;
    if (rst[0]) begin
      dropped_q <= 1'b0;
      skipped_q <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (refusal_valid_i && !regs.errors.refused.value) refusal_q <= refusal_i;
    if (rst[0] || clear) refusal_q <= '0;
  end

  // As software reads it, a cycle later: much of it comes from far.
  typedef struct packed {
    logic idle;
    logic armed;
    logic resetting;
    logic snapshot_busy;
    logic qp_busy;
    logic mac_stuck;
    logic memory_stuck;
  } status_t;
  status_t status_q;

  always_ff @(posedge clk) begin
    status_q <= '{
        idle: idle_q,
        armed: armed_o,
        resetting: resetting,
        snapshot_busy: counters_busy,
        qp_busy: qp_busy || qp_waits_q,
        mac_stuck: mac_stuck_i,
        memory_stuck: memory_stuck_i
    };
    if (rst[0]) status_q <= '0;
  end

  always_comb begin
    regs_in.capabilities = '{
        data_width: '{next: 12'(DataW)},
        frame_store: '{next: FrameStore},
        correction: '{next: Correct},
        rc: '{next: Rc},
        station: '{next: Station},
        mac_port: '{next: MacPort}
    };
    regs_in.sizes = '{
        qps: '{next: 9'(NumQp)},
        flows: '{next: 4'(Flows)},
        destinations: '{next: 9'(Destinations)},
        address_bits: '{next: 7'(AddrW)}
    };
    regs_in.clock_hz.value.next = ClockHz;
    regs_in.build.value.next = Build;
    regs_in.control.arm.hwclr = resetting;
    regs_in.status = '{
        idle: '{next: status_q.idle},
        armed: '{next: status_q.armed},
        resetting: '{next: status_q.resetting},
        snapshot_busy: '{next: status_q.snapshot_busy},
        qp_busy: '{next: status_q.qp_busy},
        mac_stuck: '{next: status_q.mac_stuck},
        memory_stuck: '{next: status_q.memory_stuck}
    };
    regs_in.errors.no_credit = '{hwclr: clear, hwset: dropped_q};
    regs_in.errors.skipped = '{hwclr: clear, hwset: skipped_q};
    regs_in.errors.refused = '{hwclr: clear, hwset: refusal_valid_i};
    regs_in.errors.frame_lost = '{hwclr: clear, hwset: pulses_q.frames_lost};
    regs_in.errors.bad_qp = '{hwclr: clear, hwset: pulses_q.bad_qp};
    regs_in.errors.bad_length = '{hwclr: clear, hwset: pulses_q.bad_length};
    regs_in.errors.too_short = '{hwclr: clear, hwset: pulses_q.too_short};
    regs_in.errors.too_long = '{hwclr: clear, hwset: pulses_q.too_long};
    regs_in.errors.bad_payload = '{hwclr: clear, hwset: pulses_q.bad_payload};
    regs_in.errors.read_error = '{hwclr: clear, hwset: pulses_q.read_errors};
    regs_in.errors.frame_bad = '{hwclr: clear, hwset: pulses_q.frames_bad};
    regs_in.errors.mismatch = '{hwclr: clear, hwset: pulses_q.mismatches};
    regs_in.errors.constant_error = '{hwclr: clear, hwset: pulses_q.constant_errors};
    regs_in.errors.mac_timeout = '{hwclr: clear, hwset: pulses_q.mac_timeouts};
    regs_in.errors.memory_timeout = '{hwclr: clear, hwset: pulses_q.memory_timeouts};
    regs_in.errors.bad_address = '{hwclr: clear, hwset: bad_address_i || (regs.control.arm.value && beyond)};
    regs_in.interrupt.value.next = asserted_q;
    regs_in.refusal = '{
        reason: '{next: refusal_q.reason},
        flow: '{next: refusal_q.flow},
        destination: '{next: refusal_q.destination}
    };
    regs_in.refusal_frame.value.next = refusal_q.number;
    regs_in.station_status = '{
        resolving: '{next: resolving_q},
        resolved: '{next: resolved_q},
        held: '{next: held_i},
        link: '{next: link_up_i}
    };
    regs_in.resolved_mac.value.next = resolved_mac_q;
    regs_in.conflict_mac.value.next = conflict_mac_i;
    regs_in.rc_sizes = '{qps: '{next: Rc ? 9'(RcQps) : '0}, depth: '{next: Rc ? 16'(RcDepth) : '0}};
    regs_in.rc_status = '{busy: '{next: rc_busy}, refused: '{next: rc_refused}};
  end

endmodule
