// The registers of PCIe engines (docs/integrating/pcie_registers.md), and their counters. They lie behind those of the transmitter, on the same bus:
// an access to those is answered here too, with 0. Stays out of the core's reset.
module pcie_registers
  import axi_pkg::*;
  import framelane_pkg::count_t;
  import pcie_counters_pkg::*;
  import pcie_pkg::*;
  import pcie_regs_pkg::*;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Engines = 2,
    parameter int unsigned Entries = 8192,
    parameter bit          Packets = 1'b0   // engines take packets: said in the registers
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // The engines
    output pcie_control_t [Engines-1:0] control_o,
    input  pcie_report_t  [Engines-1:0] report_i,
    input  pcie_pulses_t  [Engines-1:0] pulses_i,
    input  logic                        clear_i     // counters and errors
);

  // Addresses, in the map of all: 0xC000 and 0xE000, 0x100 for each engine.
  localparam int unsigned BASE = 3;  // addr[15:14]
  localparam int unsigned MORE = $bits(pcie_pulses_t) > 32 ? 64 : 33;  // more than there are turns

  // An access of 32 bits.
  typedef struct packed {
    logic        write;
    logic [15:0] addr;
    logic [31:0] data;
    logic [31:0] mask;
  } access_t;

  logic req, ack_q;
  logic [2:0] answer_q;
  access_t asked;
  logic [31:0] read_data;
  logic [Engines-1:0][31:0] words;

  axil_port u_port (
      .clk,
      .rst,
      .s_axil_i,
      .s_axil_o,
      .req_o  (req),
      .write_o(asked.write),
      .addr_o (asked.addr),
      .data_o (asked.data),
      .mask_o (asked.mask),
      .ack_i  (ack_q),
      .data_i (read_data)
  );

  // Answered four cycles later.
  always_ff @(posedge clk) begin
    answer_q <= {answer_q[1:0], req};
    ack_q <= answer_q[2];
    if (rst) begin
      answer_q <= '0;
      ack_q <= 1'b0;
    end
  end

  always_comb begin
    read_data = '0;
    for (int unsigned e = 0; e < Engines; e++) read_data |= words[e];
  end

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    pcie_regs__in_t regs_in;
    pcie_regs__out_t regs;
    logic [5:0] unused;
    logic [31:0] regs_data, regs_data_q, count_data, count_data_q;
    logic here, counts_busy, write_q, count_ready, is_regs_q, is_counts_q;
    (* keep, dont_merge *)access_t access_q;  // a copy for this engine, so that none drives more
    (* keep, dont_merge *)logic [3:0] writes_q;  // and of whether it is a write, for each quarter of the registers
    (* keep, dont_merge *)logic rst_q;  // and of the reset, a cycle later
    pcie_pulses_t pulses_q;
    count_t none;

    assign here = asked.addr[15:14] == 2'(BASE) && asked.addr[12:9] == '0 && asked.addr[8] == 1'(e);
    assign none = '0;

    pcie_regs u_regs (
        .clk,
        .rst,
        .s_cpuif_req         (is_regs_q),
        .s_cpuif_req_is_wr   (writes_q),
        .s_cpuif_addr        (access_q.addr[PCIE_REGS_MIN_ADDR_WIDTH-1:0]),
        .s_cpuif_wr_data     (access_q.data),
        .s_cpuif_wr_biten    (access_q.mask),
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

    counters #(
        .Counters(MORE),
        .Pulses  ($bits(pcie_pulses_t))
    ) u_counters (
        .clk,
        .rst,
        .pulse_i            (pulses_q),
        .s_axis_count_tdata (none),
        .s_axis_count_tvalid(1'b0),
        .s_axis_count_tready(count_ready),
        .snapshot_i         (regs.command.snapshot.value),
        .clear_i,
        .busy_o             (counts_busy),
        .index_i            (11'(access_q.addr[7:3])),
        .high_i             (access_q.addr[2]),
        .data_o             (count_data)
    );

    always_ff @(posedge clk) begin
      if (rst || rst_q) rst_q <= rst;
      pulses_q <= pulses_i[e];
      // A copy asks whether it changes: tools make one of equal ones.
      if (rst_q || access_q != asked) access_q <= asked;
      for (int unsigned k = 0; k < 4; k++) if (rst_q || writes_q[k] != asked.write) writes_q[k] <= asked.write;
      is_regs_q <= req && here && !asked.addr[13];
      is_counts_q <= here && asked.addr[13];
      regs_data_q <= is_regs_q ? regs_data : '0;
      count_data_q <= is_counts_q ? count_data : '0;
      write_q <= regs.map_entry.page.swmod;
      if (rst || rst_q) pulses_q <= '0;
      if (rst) begin
        write_q <= 1'b0;
        is_regs_q <= 1'b0;
      end
    end

    // Counts come two cycles later than registers.
    logic [1:0][31:0] word_q;
    always_ff @(posedge clk) word_q <= {word_q[0], regs_data_q};
    assign words[e] = word_q[1] | count_data_q;

    assign control_o[e] = '{
            map_write: write_q,
            map_index: regs.map_index.value.value,
            map_entry: '{
                parity: regs.map_entry.parity.value,
                present: regs.map_entry.present.value,
                number: regs.map_entry.page.value
            },
            restart: regs.command.restart.value,
            mps: mps_e'(regs.link.mps.value > 2'(MPS_512) ? 2'(MPS_512) : regs.link.mps.value),
            page_log2: regs.page_log2.value.value,
            pages: regs.pages.value.value,
            events: regs.control.events.value,
            event_base: regs.event_base.value.value,
            event_log2: regs.event_log2.value.value,
            event_consumed: regs.event_consumed.value.value,
            fence: regs.control.fence.value,
            fence_limit: regs.fence_limit.value.value,
            watchdog: regs.watchdog.value.value,
            msix: '{
                enabled: regs.control.interrupts.value,
                masked: regs.msix_control.masked.value,
                address: {regs.msix_address_high.value.value, regs.msix_address.value.value},
                data: regs.msix_data.value.value,
                events: regs.moderation.events.value,
                delay: regs.moderation.delay.value
            },
            packets: regs.control.packets.value,
            buffers: '{
                source: regs.buffers.source.value,
                base: regs.buffers_base.value.value,
                size_log2: regs.buffers.size_log2.value,
                count_log2: regs.buffers.count_log2.value,
                posted: regs.buffers_posted.value.value
            }
        };

    always_comb begin
      regs_in.sizes = '{
          entries_log2: '{next: 5'($clog2(Entries))},
          engines: '{next: 4'(Engines)},
          packets: '{next: Packets},
          data_width: '{next: 12'(DataW)}
      };
      regs_in.status = '{
          link: '{next: report_i[e].link},
          idle: '{next: report_i[e].idle},
          failed: '{next: report_i[e].failed},
          restarting: '{next: report_i[e].restarting || regs.command.restart.value},
          snapshot_busy: '{next: counts_busy},
          packets: '{next: report_i[e].packets},
          mps: '{next: report_i[e].mps}
      };
      regs_in.map_index.value = '{next: regs.map_index.value.value + 1'b1, we: write_q};
      regs_in.event_produced.value.next = report_i[e].event_produced;
      regs_in.msix_pending.pending.next = report_i[e].msix_pending;
      regs_in.errors.bad_length.hwset = pulses_q.bad_length;
      regs_in.errors.outside.hwset = pulses_q.outside;
      regs_in.errors.no_page.hwset = pulses_q.no_page;
      regs_in.errors.bad_parity.hwset = pulses_q.bad_parity;
      regs_in.errors.too_short.hwset = pulses_q.too_short;
      regs_in.errors.too_long.hwset = pulses_q.too_long;
      regs_in.errors.bad_payload.hwset = pulses_q.bad_payload;
      regs_in.errors.link_down.hwset = pulses_q.link_down || pulses_q.dropped;
      regs_in.errors.unanswered.hwset = pulses_q.unanswered;
      regs_in.errors.fence_refused.hwset = pulses_q.fences_refused;
      regs_in.errors.unexpected.hwset = pulses_q.unexpected;
      regs_in.errors.event_lost.hwset = pulses_q.events_lost;
      regs_in.errors.packet_lost.hwset = pulses_q.packets_lost;
      regs_in.errors.packet_unposted.hwset = pulses_q.packets_unposted;
      regs_in.errors.packet_too_long.hwset = pulses_q.packets_too_long;
      regs_in.errors.packet_wrong.hwset = pulses_q.packets_wrong;
      regs_in.buffers_used.value.next = report_i[e].buffers_used;
    end

    logic unused_ready;
    assign unused_ready = count_ready;
  end

endmodule
